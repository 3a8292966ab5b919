import io
import json
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from codednet.data import DataConfig, open_data
from codednet.errors import CodednetError


def pack(path: Path, members: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def picture(value: int) -> Image.Image:
    return Image.new("RGB", (6, 5), (value, 2 * value, 255 - value))


def png(value: int) -> bytes:
    file = io.BytesIO()
    picture(value).save(file, "PNG")
    return file.getvalue()


def samples(values: range, suffix: str = "png", label: str = "cls") -> dict[str, bytes]:
    """Samples named by their value, whose class is the value's remainder by two."""
    text = (lambda v: str(v % 2)) if label == "cls" else (lambda v: json.dumps({"label": v % 2, "source": "?"}))
    return {
        name: data
        for value in values
        for name, data in (
            (f"n/{value:05d}.{suffix}", png(value)),
            (f"n/{value:05d}.{label}", text(value).encode()),
        )
    }


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CODEDNET_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """train/ with two shards of 10 and 6 images, val/ with one of 4."""
    root = tmp_path / "shards"
    pack(root / "train" / "0.tar", samples(range(10)))
    pack(root / "train" / "1.tar", samples(range(10, 16), label="json"))
    pack(root / "val" / "0.tar", samples(range(16, 20)))
    return root


def opened(root: Path, **fields: object):
    fields = {"image_size": 5, "workers": 0, "tune": 0} | fields
    return open_data(DataConfig(name="webdataset", root=str(root), **fields))


def values(data, split: str) -> list[int]:
    """What tells the pictures of a split apart."""
    return [data.source.read(int(i), 3).getpixel((0, 0))[0] for i in data.indices(split)]


def test_images_are_read_by_their_place_with_their_labels(shards):
    data = opened(shards)
    assert values(data, "train") == list(range(16))
    assert values(data, "test") == list(range(16, 20))
    assert data.labels("train").tolist() == [v % 2 for v in range(16)]
    assert data.labels("test").tolist() == [0, 1, 0, 1]
    assert data.classes == ("0", "1")
    assert data.source.name(10) == f"{shards}/train/1.tar/n/00010.png"


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_an_epoch_is_shuffled_over_all_shards_and_the_same_with_workers(shards):
    loaders = [opened(shards, flip=True, workers=workers).train_loader(8, seed=0) for workers in (0, 2)]
    for _ in range(2):
        for one, two in zip(*loaders, strict=True):
            assert torch.equal(one.images, two.images)
            assert torch.equal(one.indices, two.indices)
            assert {index // 10 for index in one.indices.tolist()} == {0, 1}


@pytest.mark.parametrize("names", [("x-train-0.tar", "x-validation-0.tar"), ("train.tar", "test.tar")])
def test_shards_may_say_in_their_names_what_they_are_for(tmp_path, names):
    pack(tmp_path / "s" / names[0], samples(range(8)))
    pack(tmp_path / "s" / names[1], samples(range(8, 12)))
    data = opened(tmp_path / "s")
    assert (values(data, "train"), values(data, "test")) == (list(range(8)), list(range(8, 12)))


@pytest.mark.parametrize("folder", ["", "train"])
def test_without_shards_for_the_test_a_part_is_drawn(tmp_path, folder):
    pack(tmp_path / "s" / folder / "part-0.tar", samples(range(20)))
    data = opened(tmp_path / "s", test_share=0.2)
    assert np.bincount(data.labels("test")).tolist() == [2, 2]
    assert sorted(values(data, "train") + values(data, "test")) == list(range(20))


@pytest.mark.parametrize("place", ["classes.txt", "train/classes.txt"])
def test_classes_have_the_names_of_classes_txt(shards, place):
    (shards / place).write_text("even\nodd ones\n\n")
    assert opened(shards).classes == ("even", "odd ones")
    (shards / place).write_text("even\n")
    with pytest.raises(CodednetError, match=r"must name a class for each label up to 1; it has 1"):
        opened(shards)


def test_shards_are_scanned_once_and_again_when_they_change(shards):
    index = shards / "train" / "codednet-index-train.npz"
    opened(shards)
    written = index.stat().st_mtime_ns
    assert values(opened(shards), "train") == list(range(16))
    assert index.stat().st_mtime_ns == written
    os.utime(shards / "train" / "0.tar", (1, 1))
    opened(shards)
    assert index.stat().st_mtime_ns > written
    pack(shards / "train" / "1.tar", samples(range(10, 14)))
    assert len(values(opened(shards), "train")) == 14
    pack(shards / "train" / "2.tar", samples(range(20, 24)))
    assert values(opened(shards), "train")[-4:] == [20, 21, 22, 23]


def test_a_damaged_index_is_made_anew(shards):
    opened(shards)
    index = shards / "train" / "codednet-index-train.npz"
    for damaged in (b"", b"nonsense", index.read_bytes()[:100]):
        index.write_bytes(damaged)
        assert values(opened(shards), "train") == list(range(16))


def test_where_shards_cannot_be_written_the_index_is_in_the_user_s_cache(shards, cache):
    # What not even an administrator may write: an index whose place is taken by a folder.
    for part, name in (("train", "train"), ("val", "test")):
        (shards / part / f"codednet-index-{name}.npz").mkdir()
    opened(shards)
    kept = {path: path.stat().st_mtime_ns for path in cache.rglob("codednet-index-*.npz")}
    assert len(kept) == 2
    assert values(opened(shards), "test") == [16, 17, 18, 19]
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert sorted(path.name for path in (shards / "train").iterdir()) == ["0.tar", "1.tar", "codednet-index-train.npz"]


def test_long_and_foreign_names_are_found(tmp_path):
    long = "folder/" * 30
    pack(tmp_path / "s" / "a.tar", {f"{long}кот.x.PNG".replace(".x", ""): png(1), f"{long}кот.cls": b"0\n"}
         | {"b.jpeg": png(2), "b.json": b'{"label": 1}', "b.cls": b" 1 "})  # fmt: skip
    pack(tmp_path / "s" / "b.tar", samples(range(4)))
    data = opened(tmp_path / "s", test_share=0.4)
    assert sorted(values(data, "train") + values(data, "test")) == [0, 1, 1, 2, 2, 3]


def refusal(root: Path, **fields: object) -> str:
    with pytest.raises(CodednetError) as refused:
        opened(root, **fields)
    return str(refused.value)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"a.png": b"x"}, "'a' has no label (.cls, or .json with a label)"),
        ({"a.png": b"x", "a.json": b'{"caption": "cat"}'}, "'a' has no label (.cls, or .json with a label)"),
        ({"a.cls": b"0"}, "'a' has no image."),
        ({"a.png": b"x", "a.jpg": b"x", "a.cls": b"0"}, "must have one image; 'a' has two."),
        ({"a.png": b"x", "a.cls": b"cat"}, "a.tar/a.cls must be a whole number from 0 on; got b'cat'."),
        ({"a.png": b"x", "a.cls": b"-1"}, "must be a whole number from 0 on; got -1."),
        ({"a.png": b"x", "a.json": b'{"label": "cat"}'}, "must be a whole number from 0 on; got 'cat'."),
        ({"a.png": b"x", "a.json": b'{"label": true}'}, "must be a whole number from 0 on; got True."),
        ({"a.txt": b"x"}, "shards must hold images; there is none in"),
        ({"a.png": b"x", "a.cls": b"0"}, "two classes or more"),
        ({"a.png": b"x", "a.cls": b"2", "b.png": b"x", "b.cls": b"0"}, "there is none of '1'."),
    ],
)
def test_samples_that_are_not_whole_are_refused_by_name(tmp_path, members, message):
    pack(tmp_path / "s" / "a.tar", members)
    assert message in refusal(tmp_path / "s")


def test_labels_that_the_test_or_train_lacks_are_refused(shards):
    pack(shards / "val" / "0.tar", {"a.png": png(0), "a.cls": b"0"})
    assert f"every class must have an image in the test shards of {shards}; there is none of '1'." in refusal(shards)
    pack(shards / "val" / "0.tar", samples(range(4)) | {"a.png": png(0), "a.cls": b"2"})
    assert f"in the train shards of {shards}; there is none of '2'." in refusal(shards)


def test_a_shard_cut_short_is_refused(shards):
    shard = shards / "train" / "0.tar"
    shard.write_bytes(shard.read_bytes()[:3000])
    assert f"{shard} must be a whole, uncompressed tar file, but reading it failed" in refusal(shards)


def test_compressed_shards_are_refused_with_advice_that_works(tmp_path):
    pack(tmp_path / "s" / "a.tar", samples(range(8)))
    (tmp_path / "s" / "a.tar").rename(tmp_path / "s" / "a.tar.gz")
    assert "Unpack the compressed ones" in refusal(tmp_path / "s")
    (tmp_path / "s" / "a.tar.gz").rename(tmp_path / "s" / "a.tar")
    assert opened(tmp_path / "s").classes == ("0", "1")


def test_a_root_without_shards_is_refused(tmp_path, shards):
    assert f"there is no {tmp_path}/nowhere" in refusal(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert f"{tmp_path}/empty must hold shards (*.tar), and does not. Put some there." in refusal(tmp_path / "empty")
    pack(shards / "test" / "0.tar", samples(range(4)))
    assert "must have one folder of shards for the test split, but has 'val', 'test'" in refusal(shards)


def test_shards_of_which_some_do_not_say_what_they_are_for_are_refused(tmp_path):
    pack(tmp_path / "s" / "x-train.tar", samples(range(4)))
    pack(tmp_path / "s" / "other.tar", samples(range(4)))
    assert "must say train, val or test in its name, some train; got 'other.tar'" in refusal(tmp_path / "s")
    (tmp_path / "s" / "x-train.tar").rename(tmp_path / "s" / "x-val.tar")
    assert "some train; got" in refusal(tmp_path / "s")


def test_damaged_images_are_skipped_and_named(shards):
    members = samples(range(6))
    members["n/00003.png"] = members["n/00003.png"][:40]
    pack(shards / "train" / "0.tar", members)
    loader = opened(shards).train_loader(12, seed=0)
    (batch,) = loader
    assert len(batch.labels) == 11
    (named,) = batch.unreadable
    assert named.startswith(f"{shards}/train/0.tar/n/00003.png (")
