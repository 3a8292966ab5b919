"""Images in folders, one folder a class."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from codednet.data.found import Found, check_classes, named
from codednet.data.reading import IMAGE_SUFFIXES, read_image
from codednet.errors import CodednetError

TEST_FOLDERS = ("val", "valid", "validation", "test")


@dataclass(frozen=True, eq=False)
class FolderSource:
    """Images by their paths below one folder."""

    root: Path
    paths: NDArray[Any]
    """Bytes, since worker processes share one array, where they would copy a list of names."""
    labels: NDArray[np.int64]
    classes: tuple[str, ...]

    def read(self, index: int, in_chans: int) -> Image.Image:
        """One image, grey for one channel, RGB for three."""
        return read_image(self.name(index), in_chans)

    def name(self, index: int) -> str:
        """What a message calls the image: its path."""
        return str(self.root / os.fsdecode(self.paths[index]))


def open_folders(root: Path) -> Found:
    """All images below `root`: train/ and one of val/, valid/, validation/ and test/ with a folder a class in each.

    Or the folders of the classes themselves, or train/ alone; then nothing says which images are for the test.
    """
    if not root.is_dir():
        raise CodednetError(f"root must be a folder with a folder of images for each class; there is no {root}.")
    tests = [name for name in TEST_FOLDERS if (root / name).is_dir() and _folders(root / name)]
    if not (root / "train").is_dir():
        if tests:
            raise CodednetError(f"{root} has {tests[0]}/ but no train/: put the images to train on into {root}/train.")
        return _found(root, [""])
    if len(tests) > 1:
        raise CodednetError(
            f"{root} must have one folder for the test split, but has {named(tests)}. The tune split is drawn from "
            "train/; move one of them elsewhere."
        )
    return _found(root, ["train", *tests])


def _found(root: Path, parts: Sequence[str]) -> Found:
    classes = _folders(root / parts[0])
    if len(parts) > 1:
        _check_same(classes, _folders(root / parts[1]), root, parts)
    check_classes(classes, f"{root / parts[0]} (a folder each)")
    paths, labels, sizes = [], [], []
    for part in parts:
        by_class = [list(_images(root / part / name, root)) for name in classes]
        empty = [name for name, images in zip(classes, by_class, strict=True) if not images]
        if empty:
            raise CodednetError(
                f"each folder of {root / part} must hold an image ({', '.join(IMAGE_SUFFIXES)}); there is none in "
                f"{named(empty)}. Add images, or remove the folder."
            )
        paths += [path for images in by_class for path in images]
        labels += [label for label, images in enumerate(by_class) for _ in images]
        sizes.append(len(paths))
    source = FolderSource(root, np.array(paths), np.array(labels, np.int64), tuple(classes))
    return Found(source, np.arange(sizes[0]), np.arange(sizes[0], sizes[1]) if len(parts) > 1 else None)


def _check_same(train: Sequence[str], test: Sequence[str], root: Path, parts: Sequence[str]) -> None:
    """Refuse classes that are in one of train and test alone."""
    for part, here, there in ((parts[0], train, test), (parts[1], test, train)):
        alone = sorted(set(here) - set(there))
        if alone:
            raise CodednetError(
                f"{parts[0]}/ and {parts[1]}/ of {root} must have the same classes; in {part}/ alone: {named(alone)}."
            )


def _folders(folder: Path) -> list[str]:
    return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir() and not entry.name.startswith("."))


def _images(folder: Path, root: Path) -> Iterator[bytes]:
    """Paths of the images of a class, relative to the root, in order; folders may lie within."""
    for place, folders, files in os.walk(folder, followlinks=True):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        below = os.fsencode(os.path.relpath(place, root)) + b"/"
        for name in sorted(files):
            if name.lower().endswith(IMAGE_SUFFIXES) and not name.startswith("."):
                yield below + os.fsencode(name)
