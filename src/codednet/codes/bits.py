"""Binary words packed 64 to a machine word, and the distances between them.

A table of K words of length N is a uint64 array (K, limbs), limbs = ceil(N / 64): 175 kB for 21,841 words of
length 64, and the distance of two words is one exclusive or and one population count.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint8]
Packed = NDArray[np.uint64]

_BLOCK = 1 << 20  # distances held in memory at once


def pack(words: NDArray[np.integer] | NDArray[np.bool_]) -> Packed:
    """The words' bits packed along the last axis, digit i in bit i % 64 of limb i // 64."""
    bits = np.ascontiguousarray(words, dtype=np.uint8)
    limbs = -(-bits.shape[-1] // 64)
    packed = np.zeros((*bits.shape[:-1], limbs * 8), dtype=np.uint8)
    octets = np.packbits(bits, axis=-1, bitorder="little")
    packed[..., : octets.shape[-1]] = octets
    return packed.view("<u8").astype(np.uint64, copy=False)


def unpack(packed: Packed, length: int) -> Words:
    """The words of 0s and 1s that `pack` was given."""
    octets = np.ascontiguousarray(packed.astype("<u8", copy=False)).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=length, bitorder="little")


def overlap(a: Packed, b: Packed) -> NDArray[np.integer]:
    """Number of common ones, broadcast over all axes but the last."""
    if a.shape[-1] == 1:
        return np.asarray(np.bitwise_count(a[..., 0] & b[..., 0]))
    return np.asarray(np.bitwise_count(a & b).sum(axis=-1, dtype=np.uint16))


def distance(a: Packed, b: Packed) -> NDArray[np.integer]:
    """Hamming distance, broadcast over all axes but the last."""
    if a.shape[-1] == 1:
        return np.asarray(np.bitwise_count(a[..., 0] ^ b[..., 0]))
    return np.asarray(np.bitwise_count(a ^ b).sum(axis=-1, dtype=np.uint16))


def pair_distances(packed: Packed) -> Iterator[NDArray[np.integer]]:
    """Distances of all pairs of rows, every pair once, in blocks of bounded size."""
    count = len(packed)
    start = 0
    while start < count - 1:
        rows = max(1, _BLOCK // (count - start))
        block = packed[start : start + rows]
        found = distance(block[:, None], packed[None, start:])
        later = np.arange(found.shape[1])[None, :] > np.arange(len(block))[:, None]
        yield found[later] if len(block) > 1 else found[0, 1:]
        start += rows


def closest_pairs(packed: Packed) -> tuple[int, int]:
    """Smallest distance between two rows, and the number of pairs at that distance."""
    smallest, pairs = np.iinfo(np.int64).max, 0
    for distances in pair_distances(packed):
        low = int(distances.min())
        if low <= smallest:
            pairs = (pairs if low == smallest else 0) + int(np.count_nonzero(distances == low))
            smallest = low
    return int(smallest), pairs
