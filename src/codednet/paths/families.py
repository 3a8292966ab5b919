"""Families of detectors: those of all classes that score images in one way, fitted and measured on the same images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codednet.data import Data
from codednet.data.found import named
from codednet.errors import CodednetError, nearest_name
from codednet.paths.detectors import (
    Detector,
    Negatives,
    check_negatives,
    counted,
    counted_strangers,
    fit_thresholds,
    mean_quality,
    measure_detectors,
)
from codednet.paths.thresholds import Quality, check_target

FIT_ON = ("auto", "tune-fit", "train")


@dataclass(frozen=True, kw_only=True)
class DetectorOptions:
    """How thresholds are fitted, and against what detectors are measured."""

    fit_on: str = "auto"
    """Split that thresholds are fitted on: tune-fit, or train, as in the paper; auto is tune-fit, or train where the
    run has no tune split with images of every class."""
    precision: float | None = None
    """Precision that thresholds are to reach, with the most recall; the largest F1 with neither."""
    recall: float | None = None
    """Recall that thresholds are to reach, with the most precision."""
    negatives: Negatives = "paper"
    seed: int = 0
    """Seed of the negatives that are drawn."""

    def __post_init__(self) -> None:
        check_target(self.precision, self.recall)
        check_negatives(self.negatives)
        check_fit_on(self.fit_on)


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Which scores will be read: those of the images that count for a class, and all of the first classes."""

    negatives: Negatives = "paper"
    seed: int = 0
    whole: int = 10
    """Classes, from the first on, whose detectors see every image: their outputs are shown."""

    def wanted(self, labels: NDArray[np.int64], classes: int) -> NDArray[np.bool_]:
        """Of images of these labels, a row an image and a column a class."""
        return self._shown(counted(labels, classes, self.negatives, self.seed))

    def wanted_strangers(self, images: int, labels: NDArray[np.int64], classes: int) -> NDArray[np.bool_]:
        """Of so many images of no class, beside test images of these labels."""
        return self._shown(counted_strangers(images, labels, classes, self.negatives, self.seed))

    def _shown(self, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        wanted[:, : self.whole] = True
        return wanted


class Tables(NamedTuple):
    """Scores of images by classes, from one kind of detector, and the labels of those that have some."""

    fit: ArrayLike
    fit_labels: ArrayLike
    test: ArrayLike
    test_labels: ArrayLike
    strangers: Mapping[str, ArrayLike]
    """Of images of no class, by name."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """Detectors of all classes that score images in one way."""

    detectors: tuple[Detector, ...]
    in_distribution: Quality
    """Mean over the detectors, against images of the other classes."""
    out_of_distribution: Mapping[str, Quality]
    """Mean over the detectors, against images of no class, by name."""
    missed: tuple[str, ...]
    """Classes that no threshold brings to the precision asked for; they have the one of the highest."""


def measure_family(tables: Tables, names: Sequence[str], options: DetectorOptions, *, nearest: bool = False) -> Family:
    """Detectors of all classes: thresholds from the table to fit on, measured on the others.

    A precision out of reach is refused or, with `nearest`, missed as narrowly as can be.
    """
    draws: dict[str, Any] = {"negatives": options.negatives, "seed": options.seed, "names": names}
    thresholds = fit_thresholds(
        tables.fit,
        tables.fit_labels,
        precision=options.precision,
        recall=options.recall,
        nearest=nearest,
        **draws,
    )
    detectors = measure_detectors(
        tables.test, tables.test_labels, thresholds, out_of_distribution=tables.strangers, **draws
    )
    missed: tuple[str, ...] = ()
    if options.precision is not None:
        fitted = measure_detectors(tables.fit, tables.fit_labels, thresholds, **draws)
        missed = tuple(one.label for one in fitted if one.in_distribution.precision < options.precision)
    return Family(
        detectors=detectors,
        in_distribution=mean_quality([one.in_distribution for one in detectors]),
        out_of_distribution={
            name: mean_quality([one.out_of_distribution[name] for one in detectors]) for name in tables.strangers
        },
        missed=missed,
    )


def fit_split(data: Data, asked: str = "auto") -> str:
    """The split that thresholds are fitted on, which has images of every class."""
    check_fit_on(asked)
    split, advice = asked, "Fit on the training images instead, as the paper did: --fit-on train."
    if asked == "auto":
        split = "tune-fit" if data.config.has_tune and not _without_images(data, "tune-fit") else "train"
    if split != "train" and not data.config.has_tune:
        raise CodednetError(f"the run has no tune split to fit thresholds on. {advice}")
    if missing := _without_images(data, split):
        what = f"every threshold needs images of its class; {split} has none of {named(missing)}."
        raise CodednetError(what if split == "train" else f"{what} {advice}")
    return split


def check_fit_on(asked: str) -> None:
    """Refuse what is no split that thresholds are fitted on."""
    if asked not in FIT_ON:
        raise CodednetError(f"thresholds are not fitted on {asked!r}: {nearest_name(asked, FIT_ON)}")


def _without_images(data: Data, split: str) -> list[str]:
    counts = np.bincount(data.labels(split), minlength=len(data.classes))
    return [name for name, count in zip(data.classes, counts, strict=True) if not count]
