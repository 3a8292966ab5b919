"""A code by its numbers."""

import math
from itertools import combinations

import numpy as np

from codednet.codes import Code


def find_code(classes: int, branches: int, active: int) -> Code:
    """Distinct words of one weight with even loads."""
    rng = np.random.default_rng(0)
    loads, chosen = np.zeros(branches), []
    if math.comb(branches, active) < 4 * classes:
        pool = rng.permutation(_all_words(branches, active))
        free = np.ones(len(pool), dtype=bool)
        for _ in range(classes):
            best = int(np.where(free, pool @ loads, np.inf).argmin())
            free[best] = False
            loads += pool[best]
            chosen.append(pool[best])
        return Code(np.stack(chosen))
    words: set[bytes] = set()
    while len(words) < classes:
        word = np.zeros(branches, dtype=np.uint8)
        for _ in range(1000):
            word[:] = 0
            word[np.lexsort((rng.random(branches), loads))[:active]] = 1
            if word.tobytes() not in words:
                break
        else:
            word = rng.permutation(word)
        if word.tobytes() not in words:
            words.add(word.tobytes())
            chosen.append(word)
            loads += word
    return Code(np.stack(chosen))


def _all_words(branches: int, active: int) -> np.ndarray:
    chosen = np.array(list(combinations(range(branches), active)))
    words = np.zeros((len(chosen), branches), dtype=np.uint8)
    np.put_along_axis(words, chosen, 1, axis=1)
    return words
