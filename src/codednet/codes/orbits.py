"""Orbits of words under a permutation group that keep a distance inside themselves, and which of them clash."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codednet.codes import bits
from codednet.codes.budget import Budget
from codednet.codes.groups import Group, Permutations

_CHUNK = 1 << 19  # images held in memory at once
_STEP_WORK = 5e5  # what a step costs besides its images, in the same unit: about a nanosecond
_CYCLE_WORDS = 16  # fewest words made of cycles of one group element


class Mover:
    """Images of words under all elements of a group, packed."""

    def __init__(self, elements: Permutations) -> None:
        order, branches = elements.shape
        limbs = -(-branches // 64)
        self.order, self.branches = order, branches
        # moved[i, g] has the one bit where g sends branch i; an image is the union over a word's ones.
        self.moved = np.zeros((branches, order, limbs), dtype=np.uint64)
        rows, columns = np.arange(branches)[:, None], np.arange(order)[None]
        self.moved[rows, columns, elements.T // 64] = np.uint64(1) << (elements.T % 64).astype(np.uint64)

    def images(self, supports: NDArray[np.integer]) -> bits.Packed:
        """Images (words, elements, limbs) of words given by their supports (words, active)."""
        found: bits.Packed = self.moved[supports[:, 0]]
        for j in range(1, supports.shape[1]):
            found |= self.moved[supports[:, j]]
        return found


@dataclass
class Orbits:
    """Orbits that keep the distance inside themselves: a word of each, its size, and all its images."""

    supports: NDArray[np.int64]
    sizes: NDArray[np.int64]
    images: bits.Packed

    def words(self, chosen: NDArray[np.integer]) -> bits.Packed:
        """All words of the chosen orbits, packed and each once."""
        limbs = self.images.shape[-1]
        return np.unique(self.images[chosen].reshape(-1, limbs), axis=0)

    def clashes(self, most: int, budget: Budget) -> NDArray[np.bool_] | None:
        """Which pairs of orbits hold two words with more than `most` common ones; None when the time is over."""
        count = len(self.sizes)
        bases = self.images[:, 0]
        clash = np.zeros((count, count), dtype=bool)
        for i in range(count):
            if i % 16 == 0 and budget.spent:
                return None
            clash[i, i:] = (bits.overlap(self.images[i][:, None], bases[None, i:]) > most).any(axis=0)
        clash |= clash.T
        np.fill_diagonal(clash, False)
        return clash


def find_orbits(
    group: Group, active: int, most: int, wanted: int, work: float, rng: np.random.Generator, budget: Budget
) -> Orbits:
    """Up to `wanted` different orbits of words, any two words of an orbit having at most `most` common ones.

    Half the candidates are random words, mended one branch at a time; half are unions of cycles of a random group
    element, since those lie in short orbits that random words miss.
    """
    mover = Mover(group.elements)
    chains = int(np.clip(_CHUNK // (group.order * mover.moved.shape[-1]), 4, 256))
    salt = rng.integers(1, 2**63, size=mover.moved.shape[-1], dtype=np.uint64) | np.uint64(1)
    step_work = 2.0 * chains * group.order * mover.moved.shape[-1] * (active + 4) + _STEP_WORK
    found: dict[int, tuple[NDArray[np.int64], int, bits.Packed]] = {}
    repeats = 0  # finds since the last new one: many of them, and there is little left to find

    def keep(supports: NDArray[np.int64], images: bits.Packed, excess: NDArray[np.int64]) -> None:
        nonlocal repeats
        for row in np.flatnonzero(excess == 0):
            image = images[row]
            hashes = _hashes(image, salt)
            name = int(hashes.min())
            repeats += 1
            if name not in found and len(found) < wanted:
                found[name] = (supports[row].copy(), len(np.unique(hashes)), image.copy())
                repeats = 0

    supports = _random_words(chains, mover.branches, active, rng)
    images = mover.images(supports)
    excess = _excess(images, active, most)
    age = np.zeros(chains, dtype=np.int64)
    done = 0.0
    while done < work and len(found) < wanted and repeats < 256 + 8 * len(found) and not budget.spent:
        keep(supports, images, excess)
        stale = (excess == 0) | (age > 4 * active)
        if stale.any():
            supports[stale] = _random_words(int(stale.sum()), mover.branches, active, rng)
            images[stale] = mover.images(supports[stale])
            excess[stale] = _excess(images[stale], active, most)
            age[stale] = 0
        trial = _one_branch_changed(supports, mover.branches, rng)
        trial_images = mover.images(trial)
        trial_excess = _excess(trial_images, active, most)
        better = (trial_excess <= excess) & (excess > 0)
        age = np.where(trial_excess < excess, 0, age + 1)
        supports[better], images[better], excess[better] = trial[better], trial_images[better], trial_excess[better]
        element = group.elements[rng.integers(group.order)]
        cycles = _unions_of_cycles(element, max(_CYCLE_WORDS, chains // 2), active, rng)
        if len(cycles):
            cycle_images = mover.images(cycles)
            keep(cycles, cycle_images, _excess(cycle_images, active, most))
        done += step_work
    keep(supports, images, excess)
    limbs = mover.moved.shape[-1]
    return Orbits(
        np.array([s for s, _, _ in found.values()], dtype=np.int64).reshape(-1, active),
        np.array([n for _, n, _ in found.values()], dtype=np.int64),
        np.array([i for _, _, i in found.values()], dtype=np.uint64).reshape(-1, group.order, limbs),
    )


def canonical_names(packed: bits.Packed, elements: Permutations, salt: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A number for each word that it shares with exactly the words of its orbit (up to a chance of 2^-64)."""
    mover = Mover(elements)
    words = bits.unpack(packed, mover.branches)
    supports = np.nonzero(words)[1].reshape(len(words), -1)
    rows = max(1, _CHUNK // mover.order)
    parts = [_hashes(mover.images(supports[i : i + rows]), salt).min(axis=1) for i in range(0, len(words), rows)]
    return np.concatenate(parts)


def _hashes(packed: bits.Packed, salt: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = packed * salt
    mixed ^= mixed >> np.uint64(29)
    return np.asarray((mixed * salt).sum(axis=-1, dtype=np.uint64))


def _excess(images: bits.Packed, active: int, most: int) -> NDArray[np.int64]:
    """Common ones above `most`, summed over the images that differ from the word itself."""
    common = bits.overlap(images, images[:, :1]).astype(np.int16)
    return np.asarray(np.where(common < active, np.maximum(common - most, 0), 0).sum(axis=1))


def _random_words(count: int, branches: int, active: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.random((count, branches)).argpartition(active - 1, axis=1)[:, :active]


def _one_branch_changed(supports: NDArray[np.int64], branches: int, rng: np.random.Generator) -> NDArray[np.int64]:
    count, active = supports.shape
    rows = np.arange(count)
    noise = rng.random((count, branches))
    noise[rows[:, None], supports] = -1.0
    changed = supports.copy()
    changed[rows, rng.integers(active, size=count)] = noise.argmax(axis=1)
    return changed


def _unions_of_cycles(
    element: NDArray[np.int64], count: int, active: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Words made of whole cycles of a permutation, each cycle tried in random order; none where they do not add up."""
    branches = len(element)
    least, image = np.arange(branches), element.copy()
    while not np.array_equal(image, np.arange(branches)):  # the least branch of a cycle names it
        least, image = np.minimum(least, image), element[image]
    _, cycle, lengths = np.unique(least, return_inverse=True, return_counts=True)
    if len(lengths) == branches:
        return np.zeros((0, active), dtype=np.int64)
    rows = np.arange(count)
    order = rng.random((count, len(lengths))).argsort(axis=1)
    taken = np.zeros((count, len(lengths)), dtype=bool)
    room = np.full(count, active)
    for turn in order.T:
        fits = lengths[turn] <= room
        taken[rows, turn] = fits
        room -= np.where(fits, lengths[turn], 0)
    words = taken[room == 0][:, cycle]
    return np.nonzero(words)[1].reshape(-1, active)
