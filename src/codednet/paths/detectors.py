"""Detectors of all classes: thresholds fitted on one table of scores, quality measured on another.

A table has a row an image and a column a class: scores of `DetectorSweep`, or a full network's logits as a baseline.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codednet.errors import CodednetError
from codednet.paths.thresholds import Quality, check_target, fit_threshold, highest_precision, measure_quality

# The paper's ratio, which is that of ten classes of the same size.
NEGATIVES_A_POSITIVE = 9
_FEW = NEGATIVES_A_POSITIVE + 1

Negatives: TypeAlias = Literal["paper", "all"] | int
"""Which negatives count: "all"; a number drawn for every positive; or "paper", nine where there would be many.

Many are those of more than ten classes, and more than ten out of distribution for every positive.
"""


@dataclass(frozen=True, kw_only=True)
class Detector:
    """One class's detector."""

    label: str
    """Name of the class, or its index where classes have no names."""
    threshold: float
    """Least score that it says yes to."""
    in_distribution: Quality
    """Against images of the other classes."""
    out_of_distribution: Mapping[str, Quality]
    """Against images of no class, by the name that they were given with; the positives are the same."""


def check_negatives(negatives: object) -> None:
    """Refuse what is no `Negatives`."""
    if negatives not in ("paper", "all") and (not isinstance(negatives, int) or negatives < 1):
        raise CodednetError(f"negatives must be 'paper', 'all' or a number a positive, at least 1; got {negatives!r}.")


def fit_thresholds(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    precision: float | None = None,
    recall: float | None = None,
    negatives: Negatives = "paper",
    seed: int = 0,
    names: Sequence[str] | None = None,
    nearest: bool = False,
) -> NDArray[np.float64]:
    """Threshold of every class: the largest F1, or a target as in `fit_threshold`.

    `labels` number the columns. Negatives are drawn as in `measure_detectors`, so that both mean the same mixture. A
    precision that a class cannot reach is refused or, with `nearest`, replaced by the highest that it can.
    """
    check_target(precision, recall)
    check_negatives(negatives)
    table, truth = _checked(scores, labels)
    thresholds = np.empty(table.shape[1])
    short: dict[str, float] = {}
    for index, title in enumerate(_titles(table, names)):
        rows, outsiders = _rows(truth == index, negatives, table.shape[1], title, seed, index)
        taken = np.concatenate([rows, outsiders])
        values, positive = table[taken, index], np.arange(len(taken)) < len(rows)
        target = precision
        if precision is not None and (best := highest_precision(values, positive)) < precision:
            short[title], target = best, best
        thresholds[index] = fit_threshold(values, positive, precision=target, recall=recall)
    if short and not nearest:
        raise CodednetError(_too_high(precision, short, len(thresholds)))
    return thresholds


def measure_detectors(
    scores: ArrayLike,
    labels: ArrayLike,
    thresholds: ArrayLike,
    *,
    out_of_distribution: Mapping[str, ArrayLike] | None = None,
    negatives: Negatives = "paper",
    seed: int = 0,
    names: Sequence[str] | None = None,
) -> tuple[Detector, ...]:
    """Every class's detector, measured on scores that its threshold was not fitted on.

    `out_of_distribution` holds tables of scores of images that belong to none of the classes, by name. Where there are
    more negatives than `negatives` asks for, a draw that the seed and the class alone decide takes some of them.
    """
    check_negatives(negatives)
    table, truth = _checked(scores, labels)
    limits = np.asarray(thresholds, dtype=np.float64)
    if limits.shape != table.shape[1:]:
        raise CodednetError(f"there must be a threshold for each of the {table.shape[1]} columns; got {limits.shape}.")
    strangers = _strangers(out_of_distribution, table.shape[1])
    detectors = []
    for index, title in enumerate(_titles(table, names)):
        own, others = _rows(truth == index, negatives, table.shape[1], title, seed, index)
        positives = table[own, index]
        outside = {}
        for name, one in strangers.items():
            drawn = _stranger_rows(len(one), len(own), negatives, table.shape[1], seed, index)
            outside[name] = _quality(positives, one[drawn, index], limits[index])
        detectors.append(
            Detector(
                label=title,
                threshold=float(limits[index]),
                in_distribution=_quality(positives, table[others, index], limits[index]),
                out_of_distribution=outside,
            )
        )
    return tuple(detectors)


def counted(labels: ArrayLike, classes: int, negatives: Negatives = "paper", seed: int = 0) -> NDArray[np.bool_]:
    """Which images (rows) count for which class (columns) when detectors are fitted or measured on these labels.

    Of many classes that is a small part, and scores of the rest are never read.

    >>> counted(np.arange(2000) % 100, 100).sum(0).tolist() == [200] * 100
    True
    """
    check_negatives(negatives)
    truth = np.asarray(labels)
    found = np.zeros((len(truth), classes), dtype=np.bool_)
    for index in np.unique(truth).tolist():  # a class without images is refused where its detector is measured
        for rows in _rows(truth == index, negatives, classes, str(index), seed, index):
            found[rows, index] = True
    return found


def counted_strangers(
    images: int, labels: ArrayLike, classes: int, negatives: Negatives = "paper", seed: int = 0
) -> NDArray[np.bool_]:
    """Which of so many images of no class count for which class, beside test images of these labels."""
    check_negatives(negatives)
    positives = np.bincount(np.asarray(labels), minlength=classes)
    found = np.zeros((images, classes), dtype=np.bool_)
    for index in range(classes):
        found[_stranger_rows(images, int(positives[index]), negatives, classes, seed, index), index] = True
    return found


def mean_quality(qualities: Sequence[Quality]) -> Quality:
    """Every measure averaged over detectors, as the paper quotes them."""
    if not qualities:
        raise CodednetError("a mean needs at least one detector; got none.")
    return Quality(
        precision=fmean(one.precision for one in qualities),
        recall=fmean(one.recall for one in qualities),
        f1=fmean(one.f1 for one in qualities),
        average_precision=fmean(one.average_precision for one in qualities),
    )


def _too_high(precision: float | None, short: Mapping[str, float], classes: int) -> str:
    worst = min(short, key=lambda title: short[title])
    if len(short) == 1:
        return f"class {worst!r}: no threshold reaches precision {precision}: at most {short[worst]:.4g}. Ask for less."
    return (
        f"{len(short)} of {classes} classes have no threshold that reaches precision {precision}; the least is that of "
        f"class {worst!r}, at most {short[worst]:.4g}. Ask for less."
    )


def _quality(positives: NDArray[np.float64], negatives: NDArray[np.float64], threshold: float) -> Quality:
    scores = np.concatenate([positives, negatives])
    return measure_quality(scores, np.arange(len(scores)) < len(positives), threshold)


def _rows(
    positive: NDArray[np.bool_], negatives: Negatives, classes: int, title: str, seed: int, index: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of the positives, and of the negatives that count."""
    own, others = np.flatnonzero(positive), np.flatnonzero(~positive)
    if not len(own):
        raise CodednetError(f"class {title!r} has no image among the labels: every detector needs some.")
    return own, _draw(others, len(own), negatives, classes > _FEW, (seed, index, 0))


def _stranger_rows(
    images: int, positives: int, negatives: Negatives, classes: int, seed: int, index: int
) -> NDArray[np.int64]:
    """Rows of the images of no class that count beside so many positives."""
    many = classes > _FEW or images > _FEW * positives
    return _draw(np.arange(images), positives, negatives, many, (seed, index, 1))


def _draw(
    rows: NDArray[np.int64], positives: int, negatives: Negatives, many: bool, seed: tuple[int, int, int]
) -> NDArray[np.int64]:
    if negatives == "paper":
        negatives = NEGATIVES_A_POSITIVE if many else "all"
    if isinstance(negatives, str):
        return rows
    wanted = min(negatives * positives, len(rows))
    return np.sort(np.random.default_rng(seed).choice(rows, wanted, replace=False))


def _checked(scores: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    table, truth = _table(scores), np.asarray(labels)
    if truth.shape != table.shape[:1] or not np.issubdtype(truth.dtype, np.integer):
        raise CodednetError(
            f"labels must be whole numbers, one for each of the {len(table)} rows of scores; "
            f"got shape {truth.shape} of {truth.dtype}."
        )
    if len(truth) and not 0 <= truth.min() <= truth.max() < table.shape[1]:
        raise CodednetError(
            f"labels must number the {table.shape[1]} columns from 0; got {truth.min()} to {truth.max()}. "
            "Images of no class belong to out_of_distribution."
        )
    return table, truth.astype(np.int64)


def _strangers(tables: Mapping[str, ArrayLike] | None, classes: int) -> dict[str, NDArray[np.float64]]:
    if not isinstance(tables, Mapping | None):
        raise CodednetError("out_of_distribution holds tables of scores by name, as in {'noise': scores}.")
    found = {name: _table(scores) for name, scores in (tables or {}).items()}
    for name, table in found.items():
        if table.shape[1] != classes:
            raise CodednetError(
                f"all tables must have a column for each of the {classes} classes; that of {name} has {table.shape[1]}."
            )
    return found


def _table(scores: ArrayLike) -> NDArray[np.float64]:
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2:
        raise CodednetError(f"scores must be a table, images by classes; got shape {table.shape}.")
    return table


def _titles(table: NDArray[np.float64], names: Sequence[str] | None) -> list[str]:
    if names is None:
        return [str(index) for index in range(table.shape[1])]
    if len(names) != table.shape[1]:
        raise CodednetError(f"there must be a name for each of the {table.shape[1]} columns; got {len(names)}.")
    return list(names)
