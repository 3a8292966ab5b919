"""Exchange words of a code for others of a small space: evener loads first, then fewer pairs at the least distance."""

import numpy as np
from numpy.typing import NDArray

from codednet.codes import bits
from codednet.codes.budget import Budget

_EVEN = 1e6  # a unit of unevenness outweighs any number of close pairs
_SAMPLE = 24


class _Chosen:
    """A code inside a space, with what every word of the space would mean to it, kept up to date by exchanges."""

    def __init__(self, space: bits.Packed, words: NDArray[np.float32], rows: NDArray[np.int64], most: int) -> None:
        self.space, self.words, self.most = space, words, most
        self.rows = rows.copy()
        self.clashes = np.zeros(len(space), dtype=np.int32)  # chosen words too close to a word
        self.clash_sum = np.zeros(len(space), dtype=np.int64)  # the sum of their places: the place, if it is one
        self.near = np.zeros(len(space), dtype=np.int32)  # chosen words at the least distance
        self.loads = np.zeros(words.shape[1], dtype=np.float32)
        for place in range(len(rows)):
            self._count(place, 1)

    def _count(self, place: int, sign: int) -> None:
        row = self.rows[place]
        common = bits.overlap(self.space, self.space[row])
        clash = common > self.most
        self.clashes += np.int32(sign) * clash
        self.clash_sum += sign * place * clash
        self.near += np.int32(sign) * (common == self.most)
        self.loads += sign * self.words[row]

    def exchange(self, place: int, row: int) -> None:
        self._count(place, -1)
        self.rows[place] = row
        self._count(place, 1)

    def cost(self) -> float:
        uneven = float(((self.loads - self.loads.mean()) ** 2).sum())
        return _EVEN * uneven + float(self.near[self.rows].sum()) / 2

    def moves(self, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Exchanges that keep the distance, (place, row), and by how much each changes the cost."""
        inside = np.zeros(len(self.space), dtype=bool)
        inside[self.rows] = True
        single = np.flatnonzero((self.clashes == 1) & ~inside)
        free = np.flatnonzero((self.clashes == 0) & ~inside)
        free = rng.permutation(free)[:1024]
        sample = rng.permutation(len(self.rows))[:_SAMPLE]
        rows = np.concatenate([single, np.repeat(free, len(sample))])
        places = np.concatenate([self.clash_sum[single], np.tile(sample, len(free))])
        old = self.rows[places]
        off = self.loads - self.loads.mean()
        pull = self.words @ off
        common = bits.overlap(self.space[rows], self.space[old]).astype(np.int64)
        active = int(self.words[0].sum())
        uneven = 2 * (pull[rows] - pull[old]) + 2 * (active - common)
        pairs = self.near[rows] - self.near[old] - (common == self.most)
        return places, rows, _EVEN * uneven.astype(np.float64) + pairs


def mend(
    space: bits.Packed,
    branches: int,
    rows: NDArray[np.int64],
    most: int,
    steps: int,
    rng: np.random.Generator,
    budget: Budget,
) -> NDArray[np.int64]:
    """Rows of as many words with at most `most` common ones, loads no less even, then no more close pairs."""
    words = bits.unpack(space, branches).astype(np.float32)
    state = _Chosen(space, words, rows, most)
    best, best_cost = state.rows.copy(), state.cost()
    tabu = np.zeros(len(space), dtype=np.int64)
    for step in range(1, steps + 1):
        if budget.spent:
            break
        places, candidates, change = state.moves(rng)
        open_moves = (tabu[candidates] <= step) | (state.cost() + change < best_cost - 0.25)
        if not open_moves.any():
            continue
        pick = int(np.where(open_moves, change, np.inf).argmin())
        tabu[state.rows[places[pick]]] = step + 5 + int(rng.integers(10))
        state.exchange(int(places[pick]), int(candidates[pick]))
        if state.cost() < best_cost - 0.25:
            best, best_cost = state.rows.copy(), state.cost()
    return best
