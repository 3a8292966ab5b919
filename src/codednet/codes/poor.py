"""Codes that break the rules, to measure what the rules are worth: words that lie close and load branches unevenly."""

from math import comb

import numpy as np
from numpy.typing import NDArray

from codednet.codes.code import Code
from codednet.codes.greedy import ENUMERABLE, all_words
from codednet.errors import ImpossibleCodeError


def poor_code(classes: int, branches: int, active: int, seed: int = 0) -> Code:
    """Distinct words of the right weight, drawn at random, two of them as close as words can be.

    The k-th branch, in an order of the seed's, is drawn with a weight of 1 / k, so that the first work for many classes
    and the last for few.

    >>> code = poor_code(10, 10, 3)
    >>> code.min_distance, code.spread
    (2, 9)
    """
    if classes > comb(branches, active):
        raise ImpossibleCodeError(
            f"no code has {classes} words of length {branches} with {active} active branches: only "
            f"{comb(branches, active)} exist. Ask for fewer, or use more branches."
        )
    rng = np.random.default_rng([seed, classes, branches, active])
    weights = -np.log(1 + rng.permutation(branches))
    first = _drawn(1, weights, active, rng)[0]
    chosen = {first.tobytes(): first}
    if classes > 1:
        close = _neighbour(first)
        chosen[close.tobytes()] = close
    words = _all_in_random_order(weights, active, rng) if comb(branches, active) <= ENUMERABLE else None
    while len(chosen) < classes:
        for word in _drawn(4 * classes, weights, active, rng) if words is None else words:
            if len(chosen) < classes:
                chosen.setdefault(word.tobytes(), word)
    return Code(np.array(list(chosen.values()))[rng.permutation(classes)])


def _drawn(count: int, weights: NDArray[np.float64], active: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Words whose branches are drawn one after the other by their weights, which are logarithms."""
    # The largest sums with Gumbel noise are such a draw.
    noisy = weights + rng.gumbel(size=(count, len(weights)))
    words = np.zeros(noisy.shape, dtype=np.uint8)
    np.put_along_axis(words, np.argsort(-noisy, axis=1)[:, :active], 1, axis=1)
    return words


def _all_in_random_order(weights: NDArray[np.float64], active: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Every word there is, those of heavy branches first as often as they would be drawn first."""
    words = all_words(len(weights), active)
    return words[np.argsort(-(words @ weights + rng.gumbel(size=len(words))))]


def _neighbour(word: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The word with one active branch exchanged for an inactive one."""
    other = word.copy()
    other[[np.flatnonzero(word)[0], np.flatnonzero(word == 0)[0]]] = 0, 1
    return other
