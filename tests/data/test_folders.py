import shutil

import numpy as np
import pytest
import torch
from torchvision.datasets import ImageFolder

from codednet.data import DataConfig, evaluation_transform, open_data
from codednet.errors import CodednetError


def opened(root, **fields):
    fields = {"image_size": 16, "workers": 0, "tune": 0.34} | fields
    return open_data(DataConfig(name="imagefolder", root=str(root), **fields))


@pytest.mark.parametrize("test", ["val", "valid", "validation", "test"])
def test_images_and_labels_are_those_of_torchvision(folders, test):
    (folders / "val").rename(folders / test)
    data = opened(folders)
    assert data.classes == ("cat", "dog")
    for part, split in (("train", ("train", "tune")), (test, ("test",))):
        want = ImageFolder(folders / part)
        places = np.sort(np.concatenate([data.indices(name) for name in split]))
        assert data.source.labels[places].tolist() == want.targets
        assert [data.source.name(i) for i in places] == [path for path, _ in want.samples]
        for place, (image, _) in zip(places, want, strict=True):
            assert np.array_equal(np.asarray(data.source.read(place, 3)), np.asarray(image))


def test_batches_of_files_are_their_images_transformed(folders):
    data = opened(folders, test_crop=0.9, image_size=12)
    transform = evaluation_transform(data.preprocessing(), 3)
    (batch,) = data.eval_loader("test", 10)
    want = torch.stack([transform(data.source.read(i, 3)) for i in batch.indices.tolist()])
    assert torch.equal(batch.images, want)
    assert data.preprocessing()["mean"] == (0.485, 0.456, 0.406)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("crop", ["none", "pad", "resized"])
def test_training_on_files_is_the_same_with_workers(folders, crop):
    batches = [
        next(iter(opened(folders, crop=crop, flip=True, workers=workers).train_loader(8, seed=0))) for workers in (0, 2)
    ]
    assert batches[0].images.shape == (8, 3, 16, 16)
    assert torch.equal(batches[0].images, batches[1].images)
    assert torch.equal(batches[0].indices, batches[1].indices)


def test_folders_and_hidden_files_within_a_class(folders, photo):
    (folders / "train" / "cat" / "more" / "deep").mkdir(parents=True)
    (folders / "train" / "cat" / ".git").mkdir()
    (folders / "train" / ".cache").mkdir()
    photo().save(folders / "train" / "cat" / "more" / "deep" / "x.JPEG")
    photo().save(folders / "train" / "cat" / ".git" / "x.png")
    photo().save(folders / "train" / "cat" / ".hidden.png")
    (folders / "train" / "cat" / "notes.txt").write_text("no image")
    data = opened(folders, tune=0)
    assert np.bincount(data.labels("train")).tolist() == [7, 9]


def test_names_of_any_alphabet_are_names(folders, photo):
    (folders / "train" / "cat").rename(folders / "train" / "кошка 猫")
    (folders / "val" / "cat").rename(folders / "val" / "кошка 猫")
    photo().save(folders / "train" / "кошка 猫" / "ñ é.png")
    data = opened(folders, tune=0)
    assert data.classes == ("dog", "кошка 猫")
    assert data.source.name(int(data.indices("train")[-1])).endswith("ñ é.png")
    assert data.source.read(int(data.indices("train")[-1]), 3).size == (24, 20)


@pytest.mark.parametrize("layout", ["train alone", "classes alone"])
def test_without_a_test_folder_a_part_is_drawn(folders, layout):
    shutil.rmtree(folders / "val")
    data = opened(folders if layout == "train alone" else folders / "train", test_share=0.34, tune=0)
    assert np.bincount(data.labels("test")).tolist() == [2, 3]
    assert np.bincount(data.labels("train")).tolist() == [4, 6]
    other = opened(folders, test_share=0.34, tune=0, split_seed=1)
    assert not np.array_equal(other.indices("test"), data.indices("test"))


def test_a_test_folder_without_classes_is_not_one(folders, photo):
    (folders / "test").mkdir()
    photo().save(folders / "test" / "unlabelled.png")
    assert len(opened(folders).indices("test")) == 6


def refusal(root, **fields):
    with pytest.raises(CodednetError) as refused:
        opened(root, **fields)
    return str(refused.value)


def test_a_class_without_images_is_refused_by_name(folders):
    for name in "abcdefg":
        (folders / "train" / f"empty {name}").mkdir()
        (folders / "val" / f"empty {name}").mkdir()
    (folders / "train" / "empty a" / "notes.txt").touch()
    assert "there is none in 'empty a', 'empty b', 'empty c', 'empty d', 'empty e' and 2 more" in refusal(folders)
    for name in "abcdefg":
        for part in ("train", "val"):
            shutil.rmtree(folders / part / f"empty {name}")
    assert opened(folders).classes == ("cat", "dog")


def test_one_class_or_none_is_refused(folders, tmp_path):
    for part in ("train", "val"):
        shutil.rmtree(folders / part / "dog")
    assert f"two classes or more in {folders}/train (a folder each); there is only 'cat'" in refusal(folders)
    shutil.rmtree(folders / "val")
    shutil.rmtree(folders / "train" / "cat")
    assert "there is none." in refusal(folders)


def test_classes_of_train_or_test_alone_are_refused_by_name(folders):
    (folders / "val" / "dog").rename(folders / "val" / "wolf")
    assert refusal(folders) == f"train/ and val/ of {folders} must have the same classes; in train/ alone: 'dog'."
    shutil.rmtree(folders / "train" / "dog")
    assert "in val/ alone: 'wolf'." in refusal(folders)


def test_more_than_one_test_folder_is_refused(folders):
    shutil.copytree(folders / "val", folders / "test")
    assert "must have one folder for the test split, but has 'val', 'test'" in refusal(folders)


def test_a_test_folder_without_train_is_refused(folders):
    shutil.rmtree(folders / "train")
    assert f"has val/ but no train/: put the images to train on into {folders}/train." in refusal(folders)


def test_a_missing_root_is_refused(tmp_path):
    assert refusal(tmp_path / "nowhere").endswith(f"there is no {tmp_path}/nowhere.")
    with pytest.raises(CodednetError, match="imagefolder needs a root: the folder of the data"):
        open_data(DataConfig(name="imagefolder"))


def test_damaged_images_are_skipped_and_named(folders):
    broken = folders / "train" / "dog" / "3.png"
    broken.write_bytes(broken.read_bytes()[:80])
    data = opened(folders, tune=0)
    loader = data.train_loader(15, seed=0)
    (batch,) = loader
    assert len(batch.images) == len(batch.labels) == len(batch.indices) == 14
    (named,) = batch.unreadable
    assert named.startswith(f"{broken} (reading it failed: ")
    assert loader.unreadable == {named}
    with pytest.raises(CodednetError, match=r"at most 0 images may be unreadable, 1 are: .*dog/3\.png"):
        list(opened(folders, tune=0, max_unreadable=0).train_loader(15, seed=0))


def test_a_wrong_augmentation_string_is_refused(folders):
    with pytest.raises(
        CodednetError, match=r"must be one of timm's strings, such as rand-m7-n2-mstd0\.5; got 'augmix-m3'"
    ):
        opened(folders, randaugment="augmix-m3").train_loader(4, seed=0)


@pytest.mark.parametrize("in_chans", [1, 3])
def test_every_augmentation_takes_grey_and_colours(folders, in_chans):
    config = DataConfig(
        name="imagefolder", root=str(folders), image_size=16, workers=0, tune=0, crop="resized", flip=True,
        randaugment="rand-m9-n15-mstd0.5-inc1", erase=1.0, erase_count=3,
    )  # fmt: skip
    loader = open_data(config, in_chans).train_loader(15, seed=0)
    for _ in range(6):
        (batch,) = loader
        assert batch.images.shape == (15, in_chans, 16, 16)
        assert batch.images.isfinite().all()
