"""design_code: the words of a code, as far apart as can be found, then evenly loading the branches."""

from collections.abc import Callable
from math import comb

import numpy as np

from codednet.codes.bounds import distance_bound, johnson_bound
from codednet.codes.budget import Budget
from codednet.codes.code import Code
from codednet.codes.greedy import any_words, disjoint_words
from codednet.codes.search import Candidate, Search
from codednet.errors import CodednetError, ImpossibleCodeError

_MOST_CLASSES = 1 << 20
_MOST_BRANCHES = 4096


def design_code(
    classes: int,
    branches: int,
    active: int,
    min_distance: int | None = None,
    spare: int = 0,
    seed: int = 0,
    seconds: float = 60,
    progress: Callable[[str], None] | None = None,
) -> Code:
    """A code for that many classes: best minimum distance first, then evenest loads, then fewest closest pairs.

    `min_distance` asks for exactly that distance; what cannot be is refused with the bound that forbids it. `spare`
    more words keep the same distance and loads as even. The same seed gives the same code as long as the search ends
    before `seconds`, a limit on the whole; the best code found by then is the answer. `progress` hears what is tried.

    >>> code = design_code(classes=10, branches=10, active=3)
    >>> code.min_distance, code.spread, code.is_optimal
    (4, 0, True)
    """
    _check_counts(classes, branches, active, min_distance, spare, seed, seconds)
    total = classes + spare
    _check_possible(classes, total, branches, active, min_distance)
    budget = Budget(seconds, progress)
    flip = 2 * active > branches  # the complement of a code keeps its distances and the evenness of its loads
    weight = branches - active if flip else active
    found = _design(classes, total, branches, weight, min_distance, seed, budget)
    words = 1 - found.words if flip else found.words
    return Code(words[:classes], words[classes:])


def _design(
    classes: int, total: int, branches: int, weight: int, min_distance: int | None, seed: int, budget: Budget
) -> Candidate:
    rng = np.random.default_rng([seed, classes, branches, weight])
    if weight == 0 or total == 1:
        words = np.zeros((1, branches), dtype=np.uint8)
        words[0, :weight] = 1
        return Candidate(words, 2 * weight)
    bound = distance_bound(total, branches, weight)
    if total * weight <= branches and min_distance in (None, 2 * weight):
        return Candidate(disjoint_words(total, branches, weight), 2 * weight)
    search = Search(classes, total, branches, weight, rng, budget)
    best = search.judge(any_words(total, branches, weight, rng))
    top = bound if min_distance is None else min_distance
    best = search.climb(best, top)
    if min_distance is None:
        return best
    if best.distance < min_distance:
        raise ImpossibleCodeError(
            f"no code with {total} words of length {branches} with {weight} active branches at distance {min_distance} "
            f"was found in {budget.elapsed:.0f} s; the Johnson bound leaves distance {bound} open. "
            f"Ask for distance {best.distance}, which is reached, or give more seconds."
        )
    return search.lower(best, min_distance)


def _check_counts(
    classes: int, branches: int, active: int, min_distance: int | None, spare: int, seed: int, seconds: float
) -> None:
    named = {"classes": (classes, 1), "branches": (branches, 1), "active": (active, 1), "spare": (spare, 0)}
    named["seed"] = (seed, 0)
    if min_distance is not None:
        named["min_distance"] = (min_distance, 1)
    for name, (value, least) in named.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise CodednetError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    if not seconds > 0:
        raise CodednetError(f"seconds must be more than 0, got {seconds!r}.")
    if classes + spare > _MOST_CLASSES:
        raise CodednetError(f"classes and spare words together can be {_MOST_CLASSES} at most, got {classes + spare}.")
    if branches > _MOST_BRANCHES:
        raise CodednetError(f"branches can be {_MOST_BRANCHES} at most, got {branches}.")


def _check_possible(classes: int, total: int, branches: int, active: int, min_distance: int | None) -> None:
    if active > branches:
        raise ImpossibleCodeError(
            f"active must be at most the number of branches, {branches}, got {active}: "
            f"ask for {branches} active branches at most, or for more branches."
        )
    if total > comb(branches, active):
        raise ImpossibleCodeError(
            f"no code has {total} words of length {branches} with {active} active branches: only "
            f"{comb(branches, active)} exist (binomial bound). {_what_fits(total, branches, active)}"
        )
    if min_distance is None:
        return
    if total == 1:
        if min_distance != 2 * active:
            raise ImpossibleCodeError(
                f"one word alone counts as distance {2 * active}, twice its active branches; got {min_distance}. "
                f"Ask for {2 * active}, or for none."
            )
        return
    bound = distance_bound(total, branches, active)
    if min_distance % 2:
        raise ImpossibleCodeError(
            f"words with the same number of ones lie at even distances (the bound here is {bound}), "
            f"got {min_distance}: ask for {min(min_distance + 1, bound)}."
        )
    if min_distance > bound:
        most = johnson_bound(branches, min_distance, active)
        raise ImpossibleCodeError(
            f"no code has {total} words of length {branches} with {active} active branches at distance {min_distance}: "
            f"at most {most} exist (Johnson bound). Ask for distance {bound} at most, or use more branches."
        )


def _what_fits(total: int, branches: int, active: int) -> str:
    """Advice when there are too few words: a better number of active branches, or the least length that has enough."""
    if comb(branches, branches // 2) >= total:
        better = min((w for w in range(1, branches) if comb(branches, w) >= total), key=lambda w: (abs(w - active), w))
        return f"Ask for {better} active branches ({comb(branches, better)} words), or use more branches."
    length = branches
    while comb(length, length // 2) < total:
        length += 1
    return f"Use at least {length} branches, {length // 2} of them active ({comb(length, length // 2)} words)."
