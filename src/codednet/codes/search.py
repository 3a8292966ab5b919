"""The search behind design_code: climb the distance, holding the best code so far."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import comb, log, sqrt
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from codednet.codes import bits
from codednet.codes.balance import best_spread, choose_even
from codednet.codes.budget import Budget
from codednet.codes.greedy import ENUMERABLE, all_words, balanced_greedy
from codednet.codes.groups import Group, groups
from codednet.codes.independent import heavy_independent_set
from codednet.codes.mend import mend
from codednet.codes.orbits import find_orbits
from codednet.codes.repel import Repelling, scattered_words

_WORK = 1e8  # of one group in the first round; about a tenth of a second
_ROUNDS = ((1.0, 64), (4.0, 12), (16.0, 4))  # work of a group, and how many groups, best of the last round first
_POOLS = 12  # pools to choose an even code from before the evenest is taken
_AGAIN = 4  # pools of one group: the parities of one can forbid even loads that those of another allow
_GREEDY_STARTS = 12
_HOPEFUL = 0.6  # share of the words that a cheap try must find for more work to be worth it
_MEND_CLASSES = 600
_PARTING_CLASSES = 4000


@dataclass(frozen=True)
class Candidate:
    """Words of all classes, spare words behind them, and what they are worth."""

    words: NDArray[np.uint8]
    distance: int
    spreads: tuple[int, int] = (0, 0)  # of the classes alone, and with the spare words
    pairs: int = 0

    @property
    def worth(self) -> tuple[int, int, int, int]:
        """Larger is better: distance, evenness of the classes, evenness with spare words, few close pairs."""
        return (self.distance, -self.spreads[0], -self.spreads[1], -self.pairs)


class Pool(NamedTuple):
    """Words that keep a distance, a union of orbits of a group."""

    group: Group
    words: bits.Packed


class Search:
    """One search for one size; every method keeps to the budget's time."""

    def __init__(
        self, classes: int, total: int, branches: int, weight: int, rng: np.random.Generator, budget: Budget
    ) -> None:
        self.classes, self.total, self.branches, self.weight = classes, total, branches, weight
        self.rng, self.budget = rng, budget
        self.space = comb(branches, weight)
        self.ideal = (best_spread(classes, branches, weight), best_spread(total, branches, weight))

    def judge(self, words: NDArray[np.uint8]) -> Candidate:
        """What a table of words is worth."""
        distance, pairs = bits.closest_pairs(bits.pack(words)) if len(words) > 1 else (2 * self.weight, 0)
        loads = words.astype(np.int64)
        spreads = (int(np.ptp(loads[: self.classes].sum(axis=0))), int(np.ptp(loads.sum(axis=0))))
        return Candidate(words, distance, spreads, pairs)

    def climb(self, best: Candidate, top: int) -> Candidate:
        """The best candidate of the largest distance up to `top` at which enough words are found."""
        level = max(best.distance + 2, self._surely_reached())
        pools: Iterator[Pool] = iter(())
        while level <= top and not self.budget.spent:
            self.budget.say(f"distance {level} of at most {top}: looking for {self.total} words")
            most = self.weight - level // 2
            found, more = self._at(most)
            if found is None:
                break
            best, pools, level = found, more, found.distance + 2
        return self._settle(best, pools)

    def _at(self, most: int) -> tuple[Candidate | None, Iterator[Pool]]:
        """A candidate whose words have at most `most` common ones, if the work finds one, and where to find more."""
        pools: Iterator[Pool] = self._pools(most)
        found = self._by_greedy(most) if self._small else self._by_parting(most, 2, 3000)
        if found is None and (pool := next(pools, None)) is not None:
            found, pools = self._chosen(pool, tries=24), chain([pool], pools)
        if found is None and not self._small:
            found = self._by_parting(most, 6, 12000)
        return found, pools

    def _settle(self, best: Candidate, pools: Iterator[Pool]) -> Candidate:
        """The best candidate that can be had at a distance that is reached: even loads, then few closest pairs."""
        most = self.weight - best.distance // 2
        if best.spreads != self.ideal:
            self.budget.say(f"distance {best.distance}: evening loads")
            best = _better(best, self._evened(best, most))
        for _ in range(_POOLS):
            # Asked first: the next pool takes seconds to find.
            if best.spreads == self.ideal or self.budget.spent or (pool := next(pools, None)) is None:
                break
            best = _better(best, self._chosen(pool, tries=64))
        if not self._small or self.total > _MEND_CLASSES:
            return best
        self.budget.say(f"distance {best.distance}: parting the closest pairs")
        size = len(self._all_words) * self.total
        best = _better(best, self._mended(best, most, int(np.clip(4e8 / size, 20, 400))))
        for _ in range(int(np.clip(1e8 / size, 0, _GREEDY_STARTS))):
            found = self._by_greedy(most)
            if found is not None:
                best = _better(best, self._mended(found, most, int(np.clip(1e8 / size, 20, 200))))
        return best

    def _by_parting(self, most: int, crowding: float, steps: int) -> Candidate | None:
        """Evenly loading random words, pushed apart; not tried when words have more than `crowding` close ones each."""
        if self.total > _PARTING_CLASSES:
            return None
        start = scattered_words(self.total, self.branches, self.weight, self.rng)
        state = Repelling(start, most, self.rng)
        if state.close.sum() > crowding * self.total or not state.part(steps, self.budget):
            return None
        return self.judge(self._split(state.words))

    def _evened(self, best: Candidate, most: int) -> Candidate | None:
        """A candidate made even by moving single ones, its words then pushed apart again; or None."""
        if self.total > _PARTING_CLASSES:
            return None
        state = Repelling(best.words, most, self.rng)
        state.even(self.ideal[1])
        return self.judge(self._split(state.words)) if state.part(3000, self.budget) else None

    def lower(self, best: Candidate, distance: int) -> Candidate:
        """A candidate of exactly that distance, from one that keeps more: one word is moved closer to another."""
        if best.distance == distance:
            return best
        packed = bits.pack(best.words)
        found: Candidate | None = None
        for _ in range(400):
            mover, target = self.rng.choice(len(best.words), size=2, replace=False)
            word = best.words[target].copy()
            ones, zeros = np.flatnonzero(word), np.flatnonzero(1 - word)
            word[self.rng.choice(ones, distance // 2, replace=False)] = 0
            word[self.rng.choice(zeros, distance // 2, replace=False)] = 1
            gaps = bits.distance(packed, bits.pack(word))
            gaps[mover] = distance
            if gaps.min() == distance:
                words = best.words.copy()
                words[mover] = word
                found = _better(found, self.judge(words))
        return found if found is not None else self._walk_closer(best.words, distance)

    def _walk_closer(self, words: NDArray[np.uint8], distance: int) -> Candidate:
        """Word 0 walks to word 1 branch by branch: the least distance falls by 2 at most, so it meets any value."""
        words = words.copy()
        while (judged := self.judge(words)).distance > distance:
            words[0, np.flatnonzero(words[0] > words[1])[0]] = 0
            words[0, np.flatnonzero(words[1] > words[0])[0]] = 1
        return judged

    @property
    def _small(self) -> bool:
        return self.space <= ENUMERABLE and self.space * self.total <= 4e7

    def _surely_reached(self) -> int:
        """Distance that greedy choice reaches without luck (Gilbert and Varshamov)."""
        n, w = self.branches, self.weight
        ball, half = 1, 0
        while half < w and self.space >= self.total * ball:
            half += 1
            ball += comb(w, half) * comb(n - w, half)
        return max(2 * half, 2)

    @cached_property
    def _all_words(self) -> bits.Packed:
        return bits.pack(all_words(self.branches, self.weight))

    def _by_greedy(self, most: int) -> Candidate | None:
        """Balanced greedy choice in the whole space."""
        rows = balanced_greedy(self._all_words, self.total, most, self.rng, self.budget)
        return None if rows is None else self.judge(bits.unpack(self._all_words[rows], self.branches))

    def _mended(self, found: Candidate, most: int, steps: int) -> Candidate:
        """A candidate after exchanges of single words; the words of the classes alone are evened out last."""
        place = {word: row for row, word in enumerate(map(bytes, self._all_words))}
        rows = np.array([place[word] for word in map(bytes, bits.pack(found.words))])
        rows = mend(self._all_words, self.branches, rows, most, steps, self.rng, self.budget)
        return self.judge(self._split(bits.unpack(self._all_words[rows], self.branches)))

    def _split(self, words: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """The words in an order in which those of the classes alone are loaded evenly too."""
        if self.classes == self.total:
            return words
        trivial = np.arange(self.branches)[None]
        rows = choose_even(bits.pack(words), self.branches, self.classes, [trivial], self.rng, self.budget)
        spare = np.setdiff1d(np.arange(len(words)), rows)
        return np.concatenate([words[rows], words[spare]])

    def _pools(self, most: int) -> Iterator[Pool]:
        """Large enough unions of orbits: a cheap try of every group, then more work on those that came closest."""
        ranked = self._usable_groups
        for factor, count in _ROUNDS:
            sizes: list[tuple[int, Group]] = []
            for group in ranked[:count]:
                if self.budget.spent:
                    return
                words = self._pool(group, most, factor * _WORK)
                sizes.append((len(words), group))
                for _ in range(_AGAIN):
                    if len(words) < self.total:
                        break
                    yield Pool(group, words)
                    words = self._pool(group, most, factor * _WORK)
            sizes.sort(key=lambda pair: -pair[0])
            if not sizes or sizes[0][0] < _HOPEFUL * self.total:
                return
            self.budget.say(f"{sizes[0][0]} of {self.total} words under {sizes[0][1].name}; looking longer")
            ranked = [group for _, group in sizes]

    @cached_property
    def _usable_groups(self) -> list[Group]:
        """Groups in the order to try them: transitive ones first, those with orbits of a third of the code first."""
        return sorted(
            groups(self.branches), key=lambda g: (not g.transitive, abs(log(g.order / max(self.total / 3, 1))))
        )

    def _pool(self, group: Group, most: int, work: float) -> bits.Packed:
        """Words of compatible orbits under a group, as many as the work finds."""
        limbs = -(-self.branches // 64)
        wanted = int(min(2500, sqrt(3 * work / (group.order * limbs))))
        orbits = find_orbits(group, self.weight, most, wanted, work, self.rng, self.budget)
        if len(orbits.sizes) == 0:
            return orbits.images.reshape(0, limbs)
        clash = orbits.clashes(most, self.budget)
        if clash is None:
            return orbits.images.reshape(-1, limbs)[:0]
        enough = int(1.5 * self.total) + 2 * self.branches
        steps = int(1000 * sqrt(work / _WORK))
        chosen = heavy_independent_set(clash, orbits.sizes, enough, steps, self.rng, self.budget)
        return orbits.words(chosen)

    def _chosen(self, pool: Pool, tries: int) -> Candidate:
        """Evenly loading words of a pool: those of the classes first, then spare ones that keep the whole even."""
        free = pool.group.free
        rows = choose_even(pool.words, self.branches, self.classes, free, self.rng, self.budget, tries=tries)
        table = bits.unpack(pool.words[rows], self.branches)
        if self.total > self.classes:
            rest, base = np.delete(pool.words, rows, axis=0), table.sum(axis=0, dtype=np.int64)
            count = self.total - self.classes
            more = choose_even(rest, self.branches, count, free, self.rng, self.budget, base, tries)
            table = np.concatenate([table, bits.unpack(rest[more], self.branches)])
        return self.judge(table)


@overload
def _better(a: Candidate, b: Candidate | None) -> Candidate: ...
@overload
def _better(a: Candidate | None, b: Candidate | None) -> Candidate | None: ...
def _better(a: Candidate | None, b: Candidate | None) -> Candidate | None:
    if a is None or (b is not None and b.worth > a.worth):
        return b
    return a
