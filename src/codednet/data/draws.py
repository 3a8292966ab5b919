"""Random numbers by counting: each is a function of what it is for, so that no generator has a state to keep.

A key stands for one image in one epoch; a key and a stream give a number. Hashing is splitmix64's finaliser.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_LOW = 2**64 - 1


class Stream(IntEnum):
    """What a random number is for; numbers of different streams have nothing in common."""

    ORDER = 0
    CLASS = 1
    MEMBER = 2
    SPLIT = 3
    ROW = 4
    COLUMN = 5
    FLIP = 6
    IMAGE = 7


def sample_keys(seed: int, epoch: int, indices: NDArray[np.int64], turns: NDArray[np.int64] | None = None) -> Keys:
    """A key for each image: a function of seed, epoch and index, and of the turn where an epoch has an image twice."""
    keys = _absorb(_absorb(np.zeros(1, np.uint64), seed), epoch)
    keys = _mix(keys + _mix(np.asarray(indices).astype(np.uint64) + _GOLDEN))
    return keys if turns is None else _mix(keys + _mix(np.asarray(turns).astype(np.uint64)))


def bits(keys: Keys, stream: Stream) -> Keys:
    """64 random bits for each key."""
    return _absorb(keys, stream)


def uniform(keys: Keys, stream: Stream) -> NDArray[np.float64]:
    """A number of [0, 1) for each key.

    >>> uniform(sample_keys(seed=0, epoch=3, indices=np.array([5, 6])), Stream.FLIP).round(3)
    array([0.771, 0.527])
    """
    return (bits(keys, stream) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def integers(keys: Keys, stream: Stream, bound: int | NDArray[np.int64]) -> NDArray[np.int64]:
    """A number of 0, ..., bound - 1 for each key."""
    return (uniform(keys, stream) * bound).astype(np.int64)


def _absorb(keys: Keys, value: int) -> Keys:
    return _mix(keys + _mix(np.array([value & _LOW], np.uint64) + _GOLDEN))


def _mix(x: Keys) -> Keys:
    # Products of arrays wrap around silently, as meant; those of NumPy's scalars would warn.
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
