"""Codes that need no group: all words of a small space, balanced greedy choice, and distance 2 for any count."""

from itertools import combinations
from math import comb, gcd

import numpy as np
from numpy.typing import NDArray

from codednet.codes import bits
from codednet.codes.budget import Budget
from codednet.codes.repel import scattered_words

ENUMERABLE = 400_000  # words of a space that is searched as a whole


def all_words(branches: int, active: int) -> NDArray[np.uint8]:
    """Every word of the length and weight, in lexicographic order of the supports."""
    count = comb(branches, active)
    flat = np.fromiter((i for word in combinations(range(branches), active) for i in word), np.int64, count * active)
    words = np.zeros((count, branches), dtype=np.uint8)
    np.put_along_axis(words, flat.reshape(count, active), 1, axis=1)
    return words


def disjoint_words(classes: int, branches: int, active: int) -> NDArray[np.uint8]:
    """Words without a common branch: the farthest apart that words can be."""
    words = np.zeros((classes, branches), dtype=np.uint8)
    words[np.arange(classes * active) // active, np.arange(classes * active)] = 1
    return words


def arcs(count: int, branches: int, active: int) -> NDArray[np.uint8]:
    """Up to `branches` cyclic intervals, laid end to end, so that any first few of them load the branches evenly."""
    j = np.arange(count)
    round_length = branches // gcd(branches, active)
    starts = (j * active + j // round_length) % branches
    words = np.zeros((count, branches), dtype=np.uint8)
    np.put_along_axis(words, (starts[:, None] + np.arange(active)[None]) % branches, 1, axis=1)
    return words


def any_words(classes: int, branches: int, active: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Distinct words, as many as asked for up to all there are, with loads as even as can be; any distance.

    In large spaces scattered words; else whole orbits of the cyclic shifts, which are even, and a run of arcs, which
    is even at any length.
    """
    if classes <= branches:
        return arcs(classes, branches, active)
    count = comb(branches, active)
    if count > 1000 * classes * classes:  # then random words are all distinct, but for rare bad luck
        scattered = scattered_words(classes, branches, active, rng)
        if len(np.unique(bits.pack(scattered), axis=0)) == classes:
            return scattered
    draw = all_words(branches, active) if count <= max(ENUMERABLE, 3 * classes) else None
    arc_name = _necklaces(arcs(1, branches, active))[0]
    chosen: dict[bytes, NDArray[np.uint8]] = {}
    left = classes
    while left > branches or (draw is not None and left > 0):
        batch = draw if draw is not None else _random_words(1024, branches, active, rng)
        names = _necklaces(batch)
        sizes = {name: len({name[i:] + name[:i] for i in range(branches)}) for name in dict.fromkeys(names)}
        order = sorted(sizes, key=lambda name: -sizes[name])
        for name in order:
            if name != arc_name and name not in chosen and sizes[name] <= left:
                word = np.frombuffer(name, dtype=np.uint8)
                chosen[name] = np.stack([np.roll(word, i) for i in range(sizes[name])])
                left -= sizes[name]
        if draw is not None:
            break
    return np.concatenate([*chosen.values(), arcs(left, branches, active)])


def _necklaces(words: NDArray[np.uint8]) -> list[bytes]:
    """For each word the least of its cyclic shifts: the same for all words of an orbit."""
    best = words.copy()
    for shift in range(1, words.shape[1]):
        rolled = np.roll(words, shift, axis=1)
        differ = rolled != best
        first = differ.argmax(axis=1)
        rows = np.arange(len(words))
        less = differ[rows, first] & (rolled[rows, first] < best[rows, first])
        best[less] = rolled[less]
    return [row.tobytes() for row in best]


def _random_words(count: int, branches: int, active: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    words = np.zeros((count, branches), dtype=np.uint8)
    np.put_along_axis(words, rng.random((count, branches)).argsort(axis=1)[:, :active], 1, axis=1)
    return words


def balanced_greedy(
    space: bits.Packed, classes: int, most: int, rng: np.random.Generator, budget: Budget
) -> NDArray[np.int64] | None:
    """Rows of the space, any two with at most `most` common ones, each chosen on the least used branches; or None."""
    crowd = rng.random(len(space))  # common ones with the words chosen so far; ties in random order
    crowd[rng.integers(len(space))] = -1.0
    allowed = np.ones(len(space), dtype=bool)
    chosen = []
    for turn in range(classes):
        if turn % 8 == 0 and budget.spent:
            return None
        row = int(np.where(allowed, crowd, np.inf).argmin())
        if not allowed[row]:
            return None
        chosen.append(row)
        common = bits.overlap(space, space[row])
        crowd += common
        allowed &= common <= most
    return np.array(chosen)
