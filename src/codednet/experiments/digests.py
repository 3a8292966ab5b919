"""Digests of images, by which results measured on them are known to be theirs, wherever the images lie."""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codednet.data import Data
from codednet.data.folders import FolderSource
from codednet.data.shards import ShardSource
from codednet.data.source import ArraySource, Source

READ = 2**28
"""Most bytes of image files that are read, those of a data set together: about a second."""
# Where the data lies and how it is read do not change what it is.
_NO_MATTER = ("root", "workers", "download", "max_unreadable")


def data_digest(data: Data) -> str:
    """Digest of a data set: its config, classes, splits and labels, and its images as `source_digest` sees them."""
    config = {name: value for name, value in asdict(data.config).items() if name not in _NO_MATTER}
    found = hashlib.sha256(json.dumps([config, data.classes], sort_keys=True).encode())
    for name, indices in sorted(data.splits.items()):
        found.update(name.encode())
        _update(found, indices)
    # Those to train on too: thresholds may be fitted on them.
    places = np.unique(np.concatenate(list(data.splits.values())))
    found.update(source_digest(data.source, places).encode())
    return found.hexdigest()


def source_digest(source: Source, places: NDArray[np.int64]) -> str:
    """Digest of images and labels: of pixels in memory, or of files' names and bytes, in a folder for `places` alone.

    Files of more than `READ` bytes together are not read, so that a million of them take seconds: of these, another
    image of as many bytes is not noticed.
    """
    found = hashlib.sha256()
    _update(found, source.labels, places)
    if isinstance(source, ArraySource):
        _update(found, source.images.numpy())
    elif isinstance(source, FolderSource):
        _update(found, source.paths)
        _files(found, [source.name(place) for place in places.tolist()])
    elif isinstance(source, ShardSource):
        _name(found, (shard.name for shard in source.shards))
        _update(found, *source.members)
        _files(found, [str(shard) for shard in source.shards])
    else:
        _name(found, (source.name(index) for index in range(len(source.labels))))
    return found.hexdigest()


def _files(digest: Any, paths: Sequence[str]) -> None:
    sizes = np.array([_size(path) for path in paths], dtype=np.int64)
    _update(digest, sizes)
    if sizes.sum() <= READ:
        for path in paths:
            # Evaluation leaves out what cannot be read, and says so.
            with suppress(OSError):
                digest.update(hashlib.sha256(Path(path).read_bytes()).digest())


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 (a million of them: Path takes twice the time)
    except OSError:
        return -1


def _update(digest: Any, *arrays: NDArray[Any]) -> None:
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)


def _name(digest: Any, names: Iterable[str]) -> None:
    for name in names:
        digest.update(f"{name}\n".encode(errors="surrogateescape"))
