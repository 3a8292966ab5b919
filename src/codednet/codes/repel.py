"""Words that push each other apart: evenly loading random words, mended by exchanges that leave every load as it is.

What groups do for large structured codes, this does for sizes that fit no group, and for few words on many branches.
"""

import numpy as np
from numpy.typing import NDArray

from codednet.codes import bits
from codednet.codes.budget import Budget

_OFFERS = 16  # exchanges weighed at a step


def scattered_words(classes: int, branches: int, active: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Random words whose loads differ by 1 at most: shuffled branches laid end to end and cut; words may repeat."""
    words = np.zeros((classes, branches), dtype=np.uint8)
    queue: list[int] = []
    for word in words:
        while word.sum() < active:
            if not queue:
                queue = rng.permutation(branches).tolist()
            place = next((p for p, branch in enumerate(queue) if not word[branch]), None)
            if place is None:  # the rest of this shuffle is all in the word: exchange with an earlier word
                branch = queue.pop()
                _pass_on(words, word, branch, rng)
            else:
                word[queue.pop(place)] = 1
    return words


def _pass_on(words: NDArray[np.uint8], word: NDArray[np.uint8], branch: int, rng: np.random.Generator) -> None:
    """Give a branch that the word has already to another word, for one that the word lacks."""
    others = np.flatnonzero((words[:, branch] == 0) & (words > word).any(axis=1))
    giver = words[rng.choice(others)]
    lacking = rng.choice(np.flatnonzero(giver > word))
    giver[lacking], giver[branch], word[lacking] = 0, 1, 1


class Repelling:
    """Words, and for each the number of others that have more than `most` ones in common with it."""

    def __init__(self, words: NDArray[np.uint8], most: int, rng: np.random.Generator) -> None:
        self.words, self.most, self.rng = words.copy(), most, rng
        self.packed = bits.pack(self.words)
        self.close = np.zeros(len(words), dtype=np.int64)
        for i in range(len(words)):
            self.close[i] = int(self._close_to(self.packed[i], i).sum())

    def _close_to(self, packed: bits.Packed, *apart: int) -> NDArray[np.bool_]:
        near = np.asarray(bits.overlap(packed[..., None, :], self.packed) > self.most)
        near[..., list(apart)] = False
        return near

    def _replace(self, i: int, out: int, into: int) -> None:
        before = self._close_to(self.packed[i], i)
        self.words[i, out], self.words[i, into] = 0, 1
        self.packed[i] = bits.pack(self.words[i])
        after = self._close_to(self.packed[i], i)
        self.close += after.astype(np.int64) - before
        self.close[i] = int(after.sum())

    def part(self, steps: int, budget: Budget) -> bool:
        """Exchange ones between words until no two are close; whether that was reached."""
        for step in range(steps):
            crowded = np.flatnonzero(self.close)
            if not len(crowded):
                return True
            if step % 64 == 0 and budget.spent:
                return False
            i = int(self.rng.choice(crowded))
            j = int(self.rng.choice(np.flatnonzero(self._close_to(self.packed[i], i))))
            shared = np.flatnonzero(self.words[i] & self.words[j])
            self._exchange(i, int(self.rng.choice(shared)), heat=0.3)
        return not self.close.any()

    def _exchange(self, i: int, out: int, heat: float) -> None:
        """Word i gives branch `out` to another word for one of its branches, if that leaves no more close pairs."""
        givers = self.rng.integers(len(self.words), size=4 * _OFFERS)
        givers = givers[(givers != i) & (self.words[givers, out] == 0)][:_OFFERS]
        wanted = (self.words[givers] > self.words[i]) * self.rng.random((len(givers), self.words.shape[1]))
        into = wanted.argmax(axis=1) if len(givers) else np.zeros(0, dtype=np.int64)
        valid = wanted[np.arange(len(givers)), into] > 0
        givers, into = givers[valid], into[valid]
        if not len(givers):
            return
        mine, theirs = np.repeat(self.words[i][None], len(givers), axis=0), self.words[givers]
        rows = np.arange(len(givers))
        mine[:, out], mine[rows, into] = 0, 1
        theirs[:, out], theirs[rows, into] = 1, 0
        near_mine, near_theirs = self._close_to(bits.pack(mine)), self._close_to(bits.pack(theirs))
        near_mine[:, i] = near_theirs[:, i] = False
        near_mine[rows, givers] = near_theirs[rows, givers] = False
        # The pair of the two words is left out on both sides: an exchange between them moves it little.
        cost = near_mine.sum(axis=1) + near_theirs.sum(axis=1) - self.close[i] - self.close[givers]
        pick = int((cost + self.rng.random(len(cost)) * 0.5).argmin())
        if cost[pick] <= 0 or self.rng.random() < heat ** float(cost[pick] + 1):
            giver, branch = int(givers[pick]), int(into[pick])
            self._replace(i, out, branch)
            self._replace(giver, branch, out)

    def even(self, goal: int) -> None:
        """Move single ones from branches of high load to branches of low load until loads differ by `goal` at most."""
        loads = self.words.sum(axis=0, dtype=np.int64)
        while np.ptp(loads) > goal:
            high = int(self.rng.choice(np.flatnonzero(loads == loads.max())))
            low = int(self.rng.choice(np.flatnonzero(loads == loads.min())))
            rows = np.flatnonzero((self.words[:, high] == 1) & (self.words[:, low] == 0))
            rows = self.rng.permutation(rows)[:64]
            trial = self.words[rows]
            trial[:, high], trial[:, low] = 0, 1
            near = self._close_to(bits.pack(trial))
            near[np.arange(len(rows)), rows] = False
            pick = int((near.sum(axis=1) - self.close[rows]).argmin())
            self._replace(int(rows[pick]), high, low)
            loads[high] -= 1
            loads[low] += 1
