"""Where each image of a set of tar shards lies, found once and kept beside the shards."""

import hashlib
import json
import os
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codednet.atomic import write_whole
from codednet.codes.library import cache_folder
from codednet.data.reading import IMAGE_SUFFIXES
from codednet.errors import CodednetError

_VERSION = 1  # raised when an index holds something else


class Members(NamedTuple):
    """The images of some shards, in their order."""

    shards: NDArray[np.int64]
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]
    labels: NDArray[np.int64]
    names: NDArray[Any]


def find_members(shards: Sequence[Path], part: str) -> Members:
    """The images of shards of one folder; `part` names the index kept of them.

    The index is kept beside the shards, or in the user's cache where that folder cannot be written. It counts as long
    as names, sizes and times of the shards are the same.
    """
    state = _state(shards)
    folder = shards[0].parent.resolve()
    file = f"codednet-index-{part}.npz"
    places = [folder / file, cache_folder() / "shards" / hashlib.sha256(os.fsencode(folder)).hexdigest()[:16] / file]
    for place in places:
        kept = _load(place, state)
        if kept is not None:
            return kept
    members = _scan(shards)
    for place in places:
        if _keep(place, state, members):
            break
    return members


def _scan(shards: Sequence[Path]) -> Members:
    rows = [(number, *row) for number, shard in enumerate(shards) for row in _scan_shard(shard)]
    if not rows:
        raise CodednetError(f"shards must hold images; there is none in {shards[0]} or its like.")
    shard, offset, size, label = np.array([row[:4] for row in rows], np.int64).T
    return Members(shard, offset, size, label, np.array([row[4] for row in rows]))


def _scan_shard(shard: Path) -> list[tuple[int, int, int, bytes]]:
    """Offset, size, label and name of each image of a shard."""
    images: dict[str, tuple[int, int, bytes]] = {}
    labels: dict[str, int] = {}
    try:
        with tarfile.open(shard, "r:") as tar:
            for member in tar:
                folder, name = os.path.split(member.name)
                stem, _, suffix = name.partition(".")
                key = os.path.join(folder, stem)  # noqa: PTH118
                if not member.isfile() or not stem:
                    continue
                if f".{suffix.lower()}" in IMAGE_SUFFIXES:
                    if key in images:
                        raise CodednetError(f"a sample of {shard} must have one image; {key!r} has two.")
                    images[key] = member.offset_data, member.size, os.fsencode(member.name)
                elif suffix == "cls" or (suffix == "json" and key not in labels):
                    label = _label(tar.extractfile(member), suffix, f"{shard}/{member.name}")
                    if label is not None:
                        labels[key] = label
    except tarfile.TarError as error:
        raise CodednetError(
            f"{shard} must be a whole, uncompressed tar file, but reading it failed: {error}."
        ) from error
    if images.keys() != labels.keys():
        odd = min(images.keys() ^ labels.keys())
        lacks = "a label (.cls, or .json with a label)" if odd in images else "an image"
        raise CodednetError(
            f"each sample of {shard} must have an image and a label; {odd!r} has no {lacks[2:].strip()}."
        )
    return [(offset, size, labels[key], name) for key, (offset, size, name) in images.items()]


def _label(file: Any, suffix: str, name: str) -> int | None:
    """The label that a member holds, or None in a .json that has none."""
    text = file.read()
    try:
        if suffix == "json":
            found = json.loads(text)
            label = found.get("label") if isinstance(found, dict) else None
            if label is None:
                return None
        else:
            label = int(text)
    except ValueError:
        label = text
    if type(label) is not int or label < 0:
        raise CodednetError(f"the label in {name} must be a whole number from 0 on; got {label!r}.")
    return label


def _state(shards: Sequence[Path]) -> str:
    """What an index of the shards depends on."""
    stats = [(shard.name, shard.stat().st_size, shard.stat().st_mtime_ns) for shard in shards]
    return json.dumps([_VERSION, stats])


def _load(place: Path, state: str) -> Members | None:
    try:
        with place.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            return Members(*(kept[name] for name in Members._fields)) if str(kept["state"]) == state else None
    # A damaged index is made anew, as one that is not there.
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _keep(place: Path, state: str, members: Members) -> bool:
    """Whether the index could be written there."""

    def write(path: Path) -> None:
        with path.open("wb") as file:
            np.savez(file, state=np.array(state), **members._asdict())

    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, write)
    except OSError:
        return False
    return True
