"""Images in tar shards of webdataset's layout, read by their place in the file, in any order."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from codednet.data.folders import TEST_FOLDERS
from codednet.data.found import Found, check_classes, named
from codednet.data.reading import read_image
from codednet.data.shard_index import Members, find_members
from codednet.errors import CodednetError


@dataclass(frozen=True, eq=False)
class ShardSource:
    """Images by shard, offset and length."""

    shards: tuple[Path, ...]
    members: Members
    """The images; their shards count in `shards`."""
    classes: tuple[str, ...]

    @property
    def labels(self) -> NDArray[np.int64]:
        """Class of every image."""
        return self.members.labels

    def read(self, index: int, in_chans: int) -> Image.Image:
        """One image, grey for one channel, RGB for three."""
        with self._shard(index).open("rb") as file:
            file.seek(self.members.offsets[index])
            return read_image(file.read(self.members.sizes[index]), in_chans, self.name(index))

    def name(self, index: int) -> str:
        """What a message calls the image: its shard and its name there."""
        return f"{self._shard(index)}/{os.fsdecode(self.members.names[index])}"

    def _shard(self, index: int) -> Path:
        return self.shards[int(self.members.shards[index])]


def open_shards(root: Path) -> Found:
    """All images of the shards of `root`: train/*.tar and val/*.tar or test/*.tar, or *train*.tar and *val*.tar.

    Shards that say neither are one pool, and nothing says which images are for the test.
    """
    train, test = _find_shards(root)
    first = find_members(train, "train" if test else "all")
    if not test:
        source = ShardSource(train, first, _classes(root, first.labels))
        _check_labels(first.labels, source.classes, root)
        return Found(source, np.arange(len(first.labels)), None)
    second = find_members(test, "test")
    second = second._replace(shards=second.shards + len(train))
    members = Members(*(np.concatenate(both) for both in zip(first, second, strict=True)))
    source = ShardSource(train + test, members, _classes(root, members.labels))
    for part, found in (("train", first), ("test", second)):
        _check_labels(found.labels, source.classes, f"the {part} shards of {root}")
    places = np.arange(len(members.labels))
    return Found(source, places[: len(first.labels)], places[len(first.labels) :])


def _find_shards(root: Path) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Shards to train on and to test on; the latter none where nothing says so."""
    if not root.is_dir():
        raise CodednetError(f"root must be a folder with shards (*.tar); there is no {root}.")
    if (root / "train").is_dir():
        tests = [name for name in TEST_FOLDERS if any((root / name).glob("*.tar"))]
        if len(tests) > 1:
            raise CodednetError(f"{root} must have one folder of shards for the test split, but has {named(tests)}.")
        return _shards(root / "train"), _shards(root / tests[0]) if tests else ()
    shards = _shards(root)
    train = tuple(path for path in shards if "train" in path.name)
    test = tuple(path for path in shards if path not in set(train) and ("val" in path.name or "test" in path.name))
    if not train and not test:
        return shards, ()
    if not train or len(train) + len(test) < len(shards):
        other = next(path.name for path in shards if path not in {*train, *test} or not train)
        raise CodednetError(f"each shard of {root} must say train, val or test in its name, some train; got {other!r}.")
    return train, test


def _shards(folder: Path) -> tuple[Path, ...]:
    found = tuple(sorted(path for path in folder.glob("*.tar") if not path.name.startswith(".")))
    if not found:
        packed = any(folder.glob("*.tar.*")) or any(folder.glob("*.tgz"))
        advice = (
            "Unpack the compressed ones: images are read by their place in the file" if packed else "Put some there"
        )
        raise CodednetError(f"{folder} must hold shards (*.tar), and does not. {advice}.")
    return found


def _classes(root: Path, labels: NDArray[np.int64]) -> tuple[str, ...]:
    """Names in classes.txt, one a line; without it the labels themselves."""
    for file in (root / "classes.txt", root / "train" / "classes.txt"):
        if file.is_file():
            names = tuple(line.strip() for line in file.read_text(encoding="utf-8").splitlines() if line.strip())
            if labels.max() >= len(names):
                raise CodednetError(
                    f"{file} must name a class for each label up to {labels.max()}; it has {len(names)}."
                )
            return names
    return tuple(str(label) for label in range(labels.max() + 1))


def _check_labels(labels: NDArray[np.int64], classes: Sequence[str], where: Path | str) -> None:
    check_classes(classes, str(where))
    counts = np.bincount(labels, minlength=len(classes))
    empty = [name for name, count in zip(classes, counts, strict=True) if not count]
    if empty:
        raise CodednetError(f"every class must have an image in {where}; there is none of {named(empty)}.")
