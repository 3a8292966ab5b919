"""Which class gets which word: the rows of codes ordered jointly over stages, or by the similarity of classes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codednet.codes import bits
from codednet.codes.code import Code
from codednet.errors import CodednetError

_MOST_CLASSES = 4096  # above it a table of all pairs of classes is too large to keep
_EXCHANGE_WORK = 5e8  # entries of the table looked at by the search for better exchanges
_PARTNERS = 48  # exchanges weighed at a step


class JointOrder(NamedTuple):
    """Codes whose rows are ordered together, with the worst pairs before and after."""

    codes: tuple[Code, ...]
    before: "WorstPairs"
    after: "WorstPairs"


class WorstPairs(NamedTuple):
    """The smallest distance of two classes summed over the codes, and the number of pairs of classes at it."""

    distance: int
    pairs: int


class SimilarityOrder(NamedTuple):
    """A code whose rows are ordered by similarity, the order, and the objective before and after."""

    code: Code
    order: NDArray[np.int64]  # class i has the word that class order[i] had
    before: float
    after: float


def order_jointly(codes: Sequence[Code], seed: int = 0) -> JointOrder:
    """The codes with rows reordered so that the closest two classes, summed over the codes, are far apart.

    The first code keeps its order. The worst summed distance is made as large as exchanges of two rows can make it,
    then the number of pairs at it as small; it never falls. Spare words stay where they are.
    """
    if not codes:
        raise CodednetError("order_jointly needs at least one code, got none.")
    classes = codes[0].num_classes
    if any(code.num_classes != classes for code in codes):
        counts = ", ".join(str(code.num_classes) for code in codes)
        raise CodednetError(f"codes that are ordered jointly must have as many words as each other, got {counts}.")
    _check_size(classes)
    rng = np.random.default_rng(seed)
    before = _worst(sum(_distances(code) for code in codes), classes)
    ordered = [codes[0]]
    for code in codes[1:]:
        others = np.asarray(sum(_distances(c) for c in ordered), dtype=np.int32)
        order = _farthest_order(others, _distances(code), rng)
        ordered.append(code.reordered(order))
    after = _worst(sum(_distances(code) for code in ordered), classes)
    if (after.distance, -after.pairs) < (before.distance, -before.pairs):
        return JointOrder(tuple(codes), before, before)
    return JointOrder(tuple(ordered), before, after)


def order_by_similarity(code: Code, similarity: ArrayLike, near: bool = True, seed: int = 0) -> SimilarityOrder:
    """The code with rows reordered so that similar classes share branches (`near`), or so that they do not.

    The objective is the sum over pairs of classes of similarity times the number of shared branches, a quadratic
    assignment: as large as found when near, as small when not. It never gets worse than before.
    """
    from scipy.optimize import quadratic_assignment

    classes = code.num_classes
    table = _similarity(similarity, classes)
    _check_size(classes)
    shared = (code.active - _distances(code) / 2).astype(np.float64)
    np.fill_diagonal(shared, 0.0)
    before = float((table * shared).sum() / 2)
    goal = table if near else -table
    starts = [np.arange(classes)]
    if classes > 1:
        found = quadratic_assignment(
            goal, shared, method="faq", options={"maximize": True, "rng": np.random.default_rng(seed)}
        )
        starts.append(np.asarray(found.col_ind, dtype=np.int64))
    orders = [_exchange_rows(goal, shared, start) for start in starts]
    order = max(orders, key=lambda o: float((goal * shared[np.ix_(o, o)]).sum()))
    after = float((table * shared[np.ix_(order, order)]).sum() / 2)
    return SimilarityOrder(code.reordered(order), order, before, after)


def _check_size(classes: int) -> None:
    if classes > _MOST_CLASSES:
        raise CodednetError(f"rows can be ordered for {_MOST_CLASSES} classes at most, got {classes}.")


def _distances(code: Code) -> NDArray[np.int32]:
    packed = bits.pack(code.words)
    return np.stack([bits.distance(packed, word) for word in packed]).astype(np.int32)


def _worst(total: NDArray[np.int32] | int, classes: int) -> WorstPairs:
    if classes == 1:
        return WorstPairs(0, 0)
    found = np.asarray(total)[np.triu_indices(classes, 1)]
    return WorstPairs(int(found.min()), int((found == found.min()).sum()))


def _similarity(similarity: ArrayLike, classes: int) -> NDArray[np.float64]:
    table = np.array(similarity, dtype=np.float64)
    if table.shape != (classes, classes):
        raise CodednetError(f"similarity must be a table ({classes}, {classes}), a row a class, got {table.shape}.")
    if not np.isfinite(table).all():
        raise CodednetError("similarity must be finite; it holds NaN or infinity.")
    table = (table + table.T) / 2
    np.fill_diagonal(table, 0.0)
    return table


def _farthest_order(others: NDArray[np.int32], own: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int64]:
    """An order of one code's rows whose distances, added to the others', leave the closest pair far apart.

    A class of a worst pair exchanges words with the best of some others, if that makes the soft count of close pairs
    smaller; the count weighs a pair 64 times less for every 2 of distance, so the worst pairs decide.
    """
    classes = len(others)
    order = np.arange(classes)
    if classes < 3:
        return order
    high = int(others.max() + own.max())
    weight = 64.0 ** (-(np.arange(high + 1) / 2))
    total = others + own
    np.fill_diagonal(total, high)
    worst = total.min(axis=1)
    for _ in range(int(min(400 * classes, _EXCHANGE_WORK / (_PARTNERS * classes)))):
        i = int(rng.choice(np.flatnonzero(worst == worst.min())))
        partners = rng.permutation(np.delete(np.arange(classes), i))[:_PARTNERS]
        change = _exchange_changes(others, own, order, total, weight, i, partners)
        if change.min() > 0:
            continue
        j = int(partners[change.argmin()])
        order[[i, j]] = order[[j, i]]
        for k in (i, j):
            total[k] = others[k] + own[order[k], order]
            total[k, k] = high
            total[:, k] = total[k]
        worst = total.min(axis=1) if classes <= 256 else _refreshed(worst, total, (i, j))
    return order


def _refreshed(worst: NDArray[np.int32], total: NDArray[np.int32], rows: tuple[int, int]) -> NDArray[np.int32]:
    """Row minima after two rows and columns of the table changed, recomputed where they may have risen."""
    changed = total[:, rows].min(axis=1)
    stale = np.flatnonzero(worst == worst.min())
    worst = np.minimum(worst, changed)
    for k in {*stale.tolist(), *rows}:
        worst[k] = total[k].min()
    return worst


def _exchange_changes(
    others: NDArray[np.int32],
    own: NDArray[np.int32],
    order: NDArray[np.int64],
    total: NDArray[np.int32],
    weight: NDArray[np.float64],
    i: int,
    partners: NDArray[np.int64],
) -> NDArray[np.float64]:
    """By how much the soft count of close pairs changes when class i exchanges words with each of its partners."""
    at = np.arange(len(partners))
    # Class i with the word of its partner, and the partner with the word of i; their own pair keeps its distance.
    tables = (weight[others[i][None] + own[order[partners]][:, order]], weight[others[partners] + own[order[i], order]])
    before = (np.repeat(weight[total[i]][None], len(partners), axis=0), weight[total[partners]])
    change = np.zeros(len(partners))
    for table, sign in ((tables[0], 1), (tables[1], 1), (before[0], -1), (before[1], -1)):
        change += sign * (table.sum(axis=1) - table[:, i] - table[at, partners])
    return change


def _exchange_rows(
    goal: NDArray[np.float64], shared: NDArray[np.float64], start: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The order after exchanges of two rows, best first, while one makes the objective larger."""
    order = start.copy()
    classes = len(order)
    current = shared[np.ix_(order, order)]
    gains = _all_exchange_gains(goal, current)
    for _ in range(int(min(4 * classes, _EXCHANGE_WORK / max(classes**2, 1)))):
        i, j = np.unravel_index(int(gains.argmax()), gains.shape)
        if gains[i, j] <= 1e-9 * max(1.0, float(np.abs(goal).max())):
            break
        order[[i, j]] = order[[j, i]]
        current[[i, j]] = current[[j, i]]
        current[:, [i, j]] = current[:, [j, i]]
        gains = _all_exchange_gains(goal, current)
    return order


def _all_exchange_gains(goal: NDArray[np.float64], current: NDArray[np.float64]) -> NDArray[np.float64]:
    """Gain of half the objective for every exchange of two rows, both tables symmetric with zero diagonals."""
    cross = goal @ current
    own = np.diag(cross)
    return np.asarray(cross + cross.T - own[:, None] - own[None] + 2 * goal * current)
