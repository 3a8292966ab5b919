"""How far confidences can be believed: calibration errors, Brier score, likelihood, data of reliability diagrams.

Bins are (a, b], as in the paper; a confidence of 0, which no softmax gives, is counted in the first.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from codednet.errors import CodednetError

BINS = 15


@dataclass(frozen=True, kw_only=True)
class ReliabilityBin:
    """Images whose confidence lies in (lower, upper]."""

    lower: float
    upper: float
    images: int
    confidence: float | None
    """Mean; None without images."""
    accuracy: float | None
    """Share that is right; None without images."""


@dataclass(frozen=True, kw_only=True)
class CalibrationQuality:
    """What probabilities are worth; the lower the better."""

    ece: float
    """Expected calibration error: mean over images of their bin's |accuracy - confidence|."""
    mce: float
    """Maximum calibration error: the largest |accuracy - confidence| of a bin."""
    brier: float
    """Mean over images of the squared distance of the probabilities from the truth, summed over classes."""
    nll: float
    """Mean negative log-likelihood of the true class, in nats."""
    classwise_ece: float
    """Expected calibration error of each class's own probability, averaged over the classes."""


def bin_places(values: NDArray[np.float64], bins: int) -> NDArray[np.int64]:
    """Number of the bin (m / bins, (m + 1) / bins] of each value."""
    if bins < 1:
        raise CodednetError(f"there must be 1 bin or more; got {bins}.")
    # The edges as fractions, not as sums of 1 / bins, so that a value written m / bins lies on its edge.
    edges = np.arange(bins + 1) / bins
    return np.clip(np.searchsorted(edges, values, side="left") - 1, 0, bins - 1)


def reliability(
    confidence: Float[Tensor, " images"], right: Bool[Tensor, " images"], bins: int = BINS
) -> tuple[ReliabilityBin, ...]:
    """Accuracy beside confidence, bin by bin: a reliability diagram.

    >>> [(b.images, b.accuracy) for b in reliability(torch.tensor([0.4, 0.5, 0.9]), torch.tensor([1, 0, 1]) == 1, 2)]
    [(2, 0.5), (1, 1.0)]
    """
    images, confidences, rights = _sums(confidence, right, bins)
    return tuple(
        ReliabilityBin(
            lower=m / bins,
            upper=(m + 1) / bins,
            images=int(count),
            confidence=float(confidences[m] / count) if count else None,
            accuracy=float(rights[m] / count) if count else None,
        )
        for m, count in enumerate(images)
    )


def calibration_errors(
    confidence: Float[Tensor, " images"], right: Bool[Tensor, " images"], bins: int = BINS
) -> tuple[float, float]:
    """Expected and maximum calibration error."""
    images, confidences, rights = _sums(confidence, right, bins)
    gaps = np.abs(rights - confidences)
    used = images > 0
    return float(gaps.sum() / images.sum()), float((gaps[used] / images[used]).max())


def classwise_error(
    probabilities: Float[Tensor, "images classes"], labels: Int[Tensor, " images"], bins: int = BINS
) -> float:
    """Mean over the classes of the expected calibration error of their probability."""
    values = probabilities.double().numpy()
    images, classes = values.shape
    places = bin_places(values, bins) + np.arange(classes) * bins
    gaps = np.bincount(places.ravel(), values.ravel(), minlength=bins * classes)
    gaps -= np.bincount(places[np.arange(images), labels.numpy()], minlength=bins * classes)
    return float(np.abs(gaps).sum() / images / classes)


def quality(
    probabilities: Float[Tensor, "images classes"], labels: Int[Tensor, " images"], bins: int = BINS
) -> CalibrationQuality:
    """All measures of a table of probabilities; the confidence of an image is its largest."""
    table = probabilities.double()
    top = table.max(1)
    ece, mce = calibration_errors(top.values, top.indices == labels, bins)
    truth = table.gather(1, labels[:, None])[:, 0]
    return CalibrationQuality(
        ece=ece,
        mce=mce,
        brier=float((table.square().sum(1) - 2 * truth + 1).mean()),
        nll=float(-truth.clamp_min(torch.finfo(torch.float64).tiny).log().mean()),
        classwise_ece=classwise_error(table, labels, bins),
    )


def _sums(confidence: Tensor, right: Tensor, bins: int) -> tuple[NDArray[np.float64], ...]:
    """Images, summed confidences and right answers of each bin."""
    if not len(confidence):
        raise CodednetError("calibration is measured on one image or more; got none.")
    values = confidence.double().numpy()
    if not (values.min() >= 0 and values.max() <= 1):
        raise CodednetError(f"confidences must lie from 0 to 1; got {values.min():g} to {values.max():g}.")
    places = bin_places(values, bins)
    weights = np.ones_like(values), values, right.double().numpy()
    return tuple(np.bincount(places, weight, minlength=bins).astype(np.float64) for weight in weights)
