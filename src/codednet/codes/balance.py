"""Choose K words of a pool so that every branch serves equally many classes.

A subgroup that moves every branch (acts freely) loads all branches of one of its blocks alike by each of its orbits of
words. So only as many sums as it has blocks are left to level: most words come as whole orbits of a large subgroup,
the remainder as orbits of a smaller one, single words last.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codednet.codes import bits
from codednet.codes.budget import Budget
from codednet.codes.groups import Permutations
from codednet.codes.orbits import canonical_names

_CELLS = 20_000  # exchanges weighed in one step of levelling
_PATIENCE = 40  # steps of levelling without progress


def best_spread(classes: int, branches: int, active: int) -> int:
    """Smallest possible difference of two branch loads: 0 when the ones divide evenly, else 1."""
    return 0 if classes * active % branches == 0 else 1


def choose_even(
    pool: bits.Packed,
    branches: int,
    count: int,
    free: Sequence[Permutations],
    rng: np.random.Generator,
    budget: Budget,
    base: NDArray[np.int64] | None = None,
    tries: int = 64,
) -> NDArray[np.int64]:
    """Rows of the pool, `count` of them, whose loads on top of `base` are as even as the tries found."""
    words = bits.unpack(pool, branches)
    base = np.zeros(branches, dtype=np.int64) if base is None else base
    ones = int(base.sum()) + count * int(words[0].sum())
    goal = 0 if ones % branches == 0 else 1
    chooser = _Chooser(words, pool, free, rng)
    best, best_uneven = np.arange(count), np.inf
    for plan in _plans(chooser.sizes):
        rows = chooser.follow(plan, count, base)
        if rows is not None:
            tries -= 1
            loads = base + words[rows].sum(axis=0, dtype=np.int64)
            uneven = float(((loads - loads.mean()) ** 2).sum())
            if uneven < best_uneven:
                best, best_uneven = rows, uneven
            if np.ptp(loads) <= goal:
                break
        if tries == 0 or budget.spent:
            break
    return best


class Plan(NamedTuple):
    """Subgroup sizes, largest first, whose orbits make up the count, and how many words are kept for the last size."""

    sizes: tuple[int, ...]
    kept: int


def _plans(sizes: Sequence[int]) -> Iterator[Plan]:
    """Ways to make up a count: a bulk of large orbits, then ever finer ones, the last of which must fit exactly.

    Few orbits leave little choice, so more is soon kept for the last size: one or more of the largest orbits' worth.
    """
    for start in range(min(3, len(sizes))):
        yield Plan((sizes[start],), 0)
        for orbits in range(5):
            for stop in range(start + 1, len(sizes)):
                yield Plan(tuple(sizes[start : stop + 1]), orbits * sizes[start])


class _Chooser:
    """Orbits of the free subgroups in a pool, and choices among them."""

    def __init__(
        self, words: bits.Words, pool: bits.Packed, free: Sequence[Permutations], rng: np.random.Generator
    ) -> None:
        self.words, self.pool, self.rng = words, pool, rng
        self.free = {len(subgroup): subgroup for subgroup in free}
        self.sizes = sorted(self.free, reverse=True)
        self._salt = np.asarray(rng.integers(1, 2**63, size=pool.shape[1], dtype=np.uint64) | np.uint64(1))
        self._names: dict[int, NDArray[np.uint64]] = {}

    def follow(self, plan: Plan, count: int, base: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Rows chosen by the plan, levelled at each size; None when they do not make up the count."""
        taken = np.zeros(len(self.words), dtype=bool)
        loads = base.copy()
        left = count
        for size in plan.sizes:
            last = size == plan.sizes[-1]
            wanted = left // size if last else (left - plan.kept) // size
            if wanted <= 0 and not last:
                continue
            members = self._members(size, ~taken)
            if last and (left % size or len(members) < wanted):
                return None
            rows = self._levelled(size, members, min(wanted, len(members)), loads)
            taken[rows] = True
            loads += self.words[rows].sum(axis=0, dtype=np.int64)
            left -= len(rows)
        return np.flatnonzero(taken)

    def _levelled(
        self, size: int, members: NDArray[np.int64], count: int, loads: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Rows of `count` orbits that level the loads of the subgroup's blocks of branches."""
        blocks = np.unique(self.free[size].min(axis=0), return_inverse=True)[1]
        onto_blocks = np.eye(int(blocks.max()) + 1)[blocks]
        # The orbit of a word loads each branch of a block by the ones that the word has in the block.
        orbit_loads = self.words[members[:, 0]] @ onto_blocks
        level = loads @ onto_blocks / onto_blocks.sum(axis=0)
        return members[_level(orbit_loads, level, count, self.rng)].ravel()

    def _members(self, size: int, open_rows: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Rows (orbits, size) of the orbits that are open as a whole and have a word for every subgroup element."""
        rows = np.flatnonzero(open_rows)
        if size == 1:
            return rows[:, None]
        if size not in self._names:
            self._names[size] = canonical_names(self.pool, self.free[size], self._salt)
        names = self._names[size]
        order = rows[np.argsort(names[rows], kind="stable")]
        _, starts, counts = np.unique(names[order], return_index=True, return_counts=True)
        starts = starts[counts == size]
        return np.asarray(order[starts[:, None] + np.arange(size)[None]], dtype=np.int64)


def _level(
    items: NDArray[np.floating], base: NDArray[np.floating], count: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """`count` items whose loads, on top of base, differ as little as exchanging one for one could make them."""
    total, sums = items.shape
    inside = np.zeros(total, dtype=bool)
    inside[rng.permutation(total)[:count]] = True
    if sums == 1 or count in (0, total):
        return np.flatnonzero(inside)
    squares = (items**2).sum(axis=1)
    load = base + items[inside].sum(axis=0)
    tabu = np.zeros(total, dtype=np.int64)
    best, best_uneven, since = inside.copy(), np.inf, 0
    for step in range(40 + 8 * sums):
        off = load - load.mean()
        uneven = float(off @ off)
        if uneven < best_uneven - 1e-9:
            best, best_uneven, since = inside.copy(), uneven, step
        if np.ptp(load) < 1 - 1e-9 or step - since > _PATIENCE:
            break
        out = _some(inside & (tabu <= step), min(count, 64), rng)
        into = _some(~inside & (tabu <= step), _CELLS // max(len(out), 1), rng)
        if not len(out) or not len(into):
            break
        # All items weigh the same, so an exchange keeps the mean load.
        change = squares[out][:, None] + squares[into][None] - 2 * (items[out] @ items[into].T)
        change += 2 * ((items[into] @ off)[None] - (items[out] @ off)[:, None])
        a, b = np.unravel_index(int(change.argmin()), change.shape)
        inside[out[a]], inside[into[b]] = False, True
        tabu[out[a]] = tabu[into[b]] = step + 3 + int(rng.integers(6))
        load += items[into[b]] - items[out[a]]
    return np.flatnonzero(best)


def _some(which: NDArray[np.bool_], most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    rows = np.flatnonzero(which)
    return rows if len(rows) <= most else rng.choice(rows, most, replace=False)
