"""What cannot exist: upper bounds on the number of words of a constant-weight code.

The Johnson bound is computed in exact integers and certifies. The Delsarte linear program is sometimes smaller, but
it is solved in floating point, so it is a hint and never a proof.
"""

from functools import lru_cache
from math import comb

import numpy as np

_DEPTH = 256  # lengths the recursion goes down; beyond it a weaker bound, still a bound, is used


@lru_cache(maxsize=4096)
def johnson_bound(branches: int, distance: int, active: int) -> int:
    """Most words of length `branches` with `active` ones that can keep the distance, by Johnson's recursion.

    Both of Johnson's recursions (shortening on a one and on a zero) and the integral count of pairs per column.

    >>> johnson_bound(24, 8, 8), johnson_bound(10, 6, 3), johnson_bound(8, 2, 4)
    (759, 3, 70)
    """
    half = -(-distance // 2)
    active = min(active, branches - active)  # a code and its complements are equally many
    if half <= 1:
        return comb(branches, active)
    shortest = max(branches - _DEPTH, 1)
    previous = [_direct_bound(shortest, half, w) for w in range(shortest + 1)]
    for length in range(shortest + 1, branches + 1):
        row = [1] * (length + 1)
        for w in range(half, min(active, length // 2) + 1):
            best = _direct_bound(length, half, w)
            if best > 1:
                best = min(best, length * previous[w - 1] // w, length * previous[w] // (length - w))
            row[w] = row[length - w] = best
        previous = row
    return previous[active]


def _direct_bound(length: int, half: int, active: int) -> int:
    """The bound that needs no recursion: few disjoint words, or Johnson's integral count of pairs per column."""
    active = min(active, length - active)
    if active < half:
        return 1
    if active == half:
        return length // active
    most = comb(length, active)
    # Real-valued count: M (active^2 - active * length + half * length) <= half * length.
    slack = active * active - active * length + half * length
    if slack > 0:
        most = min(most, half * length // slack)
        while most > 1 and not _columns_allow(most, length, half, active):
            most -= 1
    return most


def _columns_allow(words: int, length: int, half: int, active: int) -> bool:
    """Whether the most even column sums leave few enough pairs of ones for every pair of words to be far apart."""
    q, r = divmod(words * active, length)
    return length * q * (q - 1) + 2 * q * r <= (active - half) * words * (words - 1)


@lru_cache(maxsize=1024)
def distance_bound(classes: int, branches: int, active: int) -> int:
    """Largest minimum distance that the Johnson bound leaves possible for that many words; 2 * active for one word.

    >>> distance_bound(1000, 32, 16), distance_bound(1000, 32, 8), distance_bound(10, 10, 3)
    (12, 8, 4)
    """
    if classes == 1:
        return 2 * active
    low, high = 1, min(active, branches - active)  # halves of distances: low is possible, above high nothing is
    while low < high:
        middle = (low + high + 1) // 2
        if johnson_bound(branches, 2 * middle, active) >= classes:
            low = middle
        else:
            high = middle - 1
    return 2 * low


def delsarte_bound(branches: int, distance: int, active: int) -> float:
    """Delsarte's linear programming bound in the Johnson scheme; a hint, since it is solved in floating point.

    >>> round(delsarte_bound(24, 8, 8))
    759
    """
    from scipy.optimize import linprog

    w, n = min(active, branches - active), branches
    half = -(-distance // 2)
    if half > w:
        return 1.0
    halves = range(half, w + 1)
    # Row k asks sum_i A_2i E_i(k) / (C(w,i) C(n-w,i)) >= -1, with Eberlein's polynomials E_i.
    rows = [[-_eberlein(n, w, i, k) / (comb(w, i) * comb(n - w, i)) for i in halves] for k in range(1, w + 1)]
    found = linprog(-np.ones(len(halves)), A_ub=np.array(rows), b_ub=np.ones(w), bounds=(0, None), method="highs")
    return 1.0 - float(found.fun) if found.success and found.fun is not None else float("inf")


def _eberlein(n: int, w: int, i: int, k: int) -> int:
    return sum((-1) ** j * comb(k, j) * comb(w - k, i - j) * comb(n - w - k, i - j) for j in range(min(i, k) + 1))
