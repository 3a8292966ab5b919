import gzip
import hashlib
import importlib.util
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from codednet.data import DataConfig, open_data
from codednet.errors import CodednetError

ROOT = Path(__file__).parent.parent.parent
FILES = ROOT / "src" / "codednet" / "data" / "files"


@pytest.fixture(scope="module")
def fetch_data() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fetch_data", ROOT / "tools" / "fetch_data.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def package(fetch_data, monkeypatch, tmp_path) -> dict[str, np.ndarray]:
    """Drawings of three classes in the layout of the npm package, which the tool finds instead of fetching it."""
    draw, made = np.random.default_rng(0), {}
    (tmp_path / "src" / "drawings").mkdir(parents=True)
    for name in ("The Mona Lisa", "cat", "zigzag"):
        values = np.zeros((100, 28, 28))
        values[:, :9, :27] = draw.integers(1, 1001, (100, 9, 27)) / 1000
        with gzip.open(tmp_path / "src" / "drawings" / f"{name}.ndjson.gz", "wt") as file:
            file.writelines(f"{json.dumps(of_one.ravel().tolist())}\n" for of_one in values)
        made[name] = np.rint(255 * np.roll(values, 9, axis=1)).astype(np.uint8)
    pixels = b"".join(pictures.tobytes() for pictures in made.values())
    monkeypatch.setattr(fetch_data, "unpack_npm", lambda package, scratch: tmp_path)
    monkeypatch.setattr(fetch_data, "DRAWINGS", 300)
    monkeypatch.setattr(fetch_data, "DRAWINGS_MD5", hashlib.md5(pixels).hexdigest())
    return made


def test_quickdraw_mini_is_a_thousand_pictures_to_test_on_of_345_classes():
    data = open_data(DataConfig(name="quickdraw-mini", tune=0))
    assert {name: len(indices) for name, indices in data.splits.items()} == {"train": 0, "test": 1000}
    assert set(np.bincount(data.labels("test"), minlength=345)) == {2, 3}
    assert (len(data.classes), data.in_chans, data.image_size) == (345, 1, 28)
    assert {"cat", "The Eiffel Tower", "zigzag"} <= set(data.classes)


def test_pictures_are_bright_on_black_in_the_middle_and_normalised_by_their_own_statistics():
    data = open_data(DataConfig(name="quickdraw-mini", tune=0))
    (batch,) = data.eval_loader("test", 1000)
    assert abs(float(batch.images.mean())) < 1e-3
    assert abs(float(batch.images.std()) - 1) < 1e-3
    pixels = data.source.images[..., 0].numpy()
    assert (pixels == 0).mean() > 0.5
    for axis in (1, 2):
        drawn = pixels.any(axis=3 - axis)
        before, after = drawn.argmax(1), drawn[:, ::-1].argmax(1)
        assert set(after - before) <= {0, 1}


def test_quickdraw_mini_cannot_be_trained_on():
    with pytest.raises(
        CodednetError, match=r"^quickdraw-mini has test images alone: train on another data set, or open"
    ):
        open_data(DataConfig(name="quickdraw-mini"))
    with pytest.raises(CodednetError, match=r"^quickdraw-mini has test images alone: train on another data set\.$"):
        open_data(DataConfig(name="quickdraw-mini", tune=0)).train_loader(10, seed=0)


def test_the_bundled_pictures_are_small_and_say_whose_they_are():
    assert (FILES / "quickdraw-mini.npz").stat().st_size < 300_000
    licence = (FILES / "quickdraw-mini.LICENSE.txt").read_text()
    assert all(said in licence for said in ("Google", "CC BY 4.0", "What was changed", "Thomas Wagenaar"))


def test_fetched_drawings_become_folders_of_their_classes(fetch_data, package, tmp_path, capsys):
    assert fetch_data.main(["quickdraw", "--root", str(tmp_path)]) == 0
    data = open_data(
        DataConfig(name="imagefolder", root=str(tmp_path / "quickdraw"), image_size=28, tune=0), in_chans=1
    )
    assert {name: len(indices) for name, indices in data.splits.items()} == {"train": 240, "test": 60}
    assert data.classes == tuple(package)
    (batch,) = data.eval_loader("test", 60)
    pixels = np.concatenate([pictures[80:] for pictures in package.values()])
    seen = batch.images[:, 0].numpy() * data.std[0] + data.mean[0]
    assert np.allclose(seen, pixels / 255, atol=1e-5)
    assert "holds 300 pictures" in capsys.readouterr().out


def test_folders_that_lack_a_picture_are_refused(fetch_data, package, tmp_path, capsys):
    assert fetch_data.main(["quickdraw", "--root", str(tmp_path)]) == 0
    (tmp_path / "quickdraw" / "val" / "cat" / "99.png").unlink()
    assert fetch_data.main(["quickdraw", "--root", str(tmp_path)]) == 1
    assert "should hold 300 pictures and holds 299: remove it" in capsys.readouterr().err


def test_other_drawings_are_refused(fetch_data, package, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(fetch_data, "DRAWINGS_MD5", "0")
    assert fetch_data.main(["quickdraw", "--root", str(tmp_path)]) == 1
    assert "the package should hold other drawings" in capsys.readouterr().err
    assert not (tmp_path / "quickdraw").exists()
