"""Thresholds of detectors: exact precision-recall curves of scores, and the threshold that serves a target best.

A detector says yes where the score is at least its threshold. Scores that are equal stand or fall together.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codednet.errors import CodednetError


class Curve(NamedTuple):
    """What every threshold worth trying would give; thresholds are the distinct scores, ascending."""

    thresholds: NDArray[np.float64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    f1: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Quality:
    """How well a detector with a threshold tells its class from the rest."""

    precision: float
    """Share of the detector's yes that is right; 0 if it never says yes."""
    recall: float
    """Share of the positives that it says yes to."""
    f1: float
    """Harmonic mean of precision and recall."""
    average_precision: float
    """Precision averaged over recall, at all thresholds: it does not depend on the one chosen."""


def precision_recall_curve(scores: ArrayLike, positive: ArrayLike) -> Curve:
    """Precision and recall at every distinct score taken as the threshold.

    >>> precision_recall_curve([0.1, 0.4, 0.4, 0.8], [False, False, True, True]).precision.round(2).tolist()
    [0.5, 0.67, 1.0]
    """
    values, truth = _checked(scores, positive)
    order = np.argsort(-values, kind="stable")
    values, truth = values[order], truth[order]
    last = np.flatnonzero(np.append(values[:-1] != values[1:], True))
    # From the highest score down, turned round.
    hits, answers = np.cumsum(truth)[last][::-1], (last + 1)[::-1]
    # F1 from counts: from the quotients, thresholds of the same F1 would come out different by rounding.
    f1 = 2 * hits / (answers + truth.sum())
    return Curve(values[last][::-1], hits / answers, hits / truth.sum(), f1)


def average_precision(curve: Curve) -> float:
    """Precision at each threshold, weighed by the recall that it adds to the next higher one."""
    added = curve.recall - np.append(curve.recall[1:], 0.0)
    return float(np.sum(added * curve.precision))


def fit_threshold(
    scores: ArrayLike, positive: ArrayLike, *, precision: float | None = None, recall: float | None = None
) -> float:
    """Threshold with the largest F1; or the most recall at a precision, or the most precision at a recall.

    Ties go to the highest threshold. A precision that no threshold reaches is refused.
    """
    check_target(precision, recall)
    curve = precision_recall_curve(scores, positive)
    if precision is not None:
        if (best := float(curve.precision.max())) < precision:
            raise CodednetError(f"no threshold reaches precision {precision}: at most {best:.4g}. Ask for less.")
        return _highest(curve, np.where(curve.precision >= precision, curve.recall, -1.0))
    if recall is not None:
        return _highest(curve, np.where(curve.recall >= recall, curve.precision, -1.0))
    return _highest(curve, curve.f1)


def check_target(precision: float | None, recall: float | None) -> None:
    """Refuse a target that is no share, or two of them."""
    if precision is not None and recall is not None:
        raise CodednetError("a threshold is fitted to a precision or to a recall, not to both: give one of them.")
    for name, value in (("precision", precision), ("recall", recall)):
        if value is not None and not 0 < value <= 1:
            raise CodednetError(f"{name} must be above 0 and at most 1; got {value}.")


def highest_precision(scores: ArrayLike, positive: ArrayLike) -> float:
    """The most precision that any threshold gives."""
    return float(precision_recall_curve(scores, positive).precision.max())


def measure_quality(scores: ArrayLike, positive: ArrayLike, threshold: float) -> Quality:
    """Precision, recall, F1 and average precision of a detector with this threshold."""
    values, truth = _checked(scores, positive)
    answers, positives = values >= threshold, int(truth.sum())
    hits, yes = int((answers & truth).sum()), int(answers.sum())
    return Quality(
        precision=hits / max(yes, 1),
        recall=hits / positives,
        f1=2 * hits / (yes + positives),
        average_precision=average_precision(precision_recall_curve(values, truth)),
    )


def _highest(curve: Curve, worth: NDArray[np.float64]) -> float:
    """Highest of the thresholds whose worth is the largest."""
    return float(curve.thresholds[np.flatnonzero(worth == worth.max())[-1]])


def _checked(scores: ArrayLike, positive: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    values, truth = np.asarray(scores, dtype=np.float64), np.asarray(positive)
    if values.ndim != 1 or values.shape != truth.shape:
        raise CodednetError(
            f"scores and positives must be two rows of the same length; got shapes {values.shape} and {truth.shape}."
        )
    if not np.isin(truth, (0, 1)).all():
        raise CodednetError("positives must be marked by 1 (or True) and negatives by 0, nothing else.")
    if not np.isfinite(values).all():
        raise CodednetError(f"scores must be finite; {int((~np.isfinite(values)).sum())} of {values.size} are not.")
    truth = truth.astype(bool)
    if not truth.any():
        raise CodednetError(f"there must be at least one positive; all {truth.size} scores are of negatives.")
    return values, truth
