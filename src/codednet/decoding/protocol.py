"""The paper's protocol for confidences: fitted on one part of a table, measured on the other, over many random splits.

What is fitted here lives and dies with the record; nothing of it is kept for predictions.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from statistics import fmean, stdev

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from codednet.decoding.early import agreement_table
from codednet.decoding.metrics import BINS, CalibrationQuality, calibration_errors, quality
from codednet.decoding.temperature import Temperature, fit_temperatures, literal_fit
from codednet.errors import CodednetError

SPLITS = 41
SHARES = (0.25, 0.5)
# Entries of a table that are fitted at once: splits are taken together as far as memory allows.
AT_ONCE = 4_000_000


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A number over the splits."""

    mean: float
    std: float
    """Standard deviation; 0 of a single split."""


@dataclass(frozen=True, kw_only=True)
class MethodQuality:
    """One way to confidences, over the splits."""

    method: str
    """softmax (as it is), h_T, h_aug, or agreement (the table of accuracies by agreeing decoders)."""
    ece: Spread
    mce: Spread
    brier: Spread | None
    """None of the agreement table, which says nothing of the other classes; so of the next two."""
    nll: Spread | None
    classwise_ece: Spread | None


@dataclass(frozen=True, kw_only=True)
class ShareRecord:
    """The splits of one share."""

    share: float
    """Part of the images of every class that is fitted on."""
    fitted_on: int
    measured_on: int
    methods: tuple[MethodQuality, ...]


@dataclass(frozen=True, kw_only=True)
class LiteralRecord:
    """One split, fitted literally as in the paper and to convergence: what the difference makes."""

    method: str
    share: float
    literal: Temperature | None
    """None where the paper's steps lead to temperatures that are not positive."""
    converged: Temperature
    literal_ece: float | None
    converged_ece: float
    literal_mce: float | None
    converged_mce: float


@dataclass(frozen=True, kw_only=True)
class ProtocolRecord:
    """Calibration over random splits of one table."""

    images: int
    splits: int
    bins: int
    seed: int
    shares: tuple[ShareRecord, ...]
    literal: tuple[LiteralRecord, ...]


def run_protocol(
    logits: Float[Tensor, "images classes"],
    labels: Int[Tensor, " images"],
    agree: Bool[Tensor, "images blocks"],
    *,
    splits: int = SPLITS,
    shares: Sequence[float] = SHARES,
    bins: int = BINS,
    seed: int = 0,
    literal: bool = True,
) -> ProtocolRecord:
    """ECE, MCE and more of every method, over stratified splits; without early decoders only of softmax and h_T."""
    if splits < 1:
        raise CodednetError(f"there must be 1 split or more; got {splits}.")
    records: list[ShareRecord] = []
    literals: list[LiteralRecord] = []
    for share in shares:
        parts = [draw_split(labels.numpy(), logits.shape[1], share, seed, number) for number in range(splits)]
        fit, measured = (torch.from_numpy(np.stack(part)) for part in zip(*parts, strict=True))
        found = list(_measured(logits, labels, agree, fit, measured, bins))
        methods = tuple(_method(name, [one[name] for one in found]) for name in found[0])
        records.append(ShareRecord(share=share, fitted_on=fit.shape[1], measured_on=measured.shape[1], methods=methods))
        if literal:
            literals += _literally(logits, labels, agree, share, fit[0], measured[0], bins)
    return ProtocolRecord(
        images=len(labels), splits=splits, bins=bins, seed=seed, shares=tuple(records), literal=tuple(literals)
    )


def draw_split(
    labels: NDArray[np.int64], classes: int, share: float, seed: int, number: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of the images to fit on and of the others, `share` of every class drawn by seed and number."""
    if not 0 < share < 1:
        raise CodednetError(f"the share that is fitted on lies above 0 and below 1; got {share}.")
    counts = np.bincount(labels, minlength=classes)
    taken = np.rint(share * counts).astype(np.int64)
    for label in np.flatnonzero((taken < 1) | (taken >= counts)):
        raise CodednetError(
            f"class {label} has {counts[label]} images, too few to split {share:.0%} from {1 - share:.0%}: each part "
            "needs one of every class. Measure on more images."
        )
    draw = np.random.default_rng((seed, round(share * 1e6), number))
    order = np.argsort(draw.permuted(np.arange(len(labels))), kind="stable")
    order = order[np.argsort(labels[order], kind="stable")]
    rank = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    first = rank < taken[labels[order]]
    return np.sort(order[first]), np.sort(order[~first])


def _measured(
    logits: Tensor, labels: Tensor, agree: Tensor, fit: Tensor, measured: Tensor, bins: int
) -> Iterator[dict[str, tuple[float, float] | CalibrationQuality]]:
    """Quality of every method on every split."""
    at_once = max(1, AT_ONCE // (fit.shape[1] * logits.shape[1]))
    for start in range(0, len(fit), at_once):
        some = fit[start : start + at_once]
        found = {"h_T": fit_temperatures(logits[some], labels[some])}
        if agree.shape[1]:
            found["h_aug"] = fit_temperatures(logits[some], labels[some], agree[some])
        for number in range(len(some)):
            rows = measured[start + number]
            z, y, agreed = logits[rows].double(), labels[rows], agree[rows]
            one: dict[str, tuple[float, float] | CalibrationQuality] = {"softmax": quality(z.softmax(1), y, bins)}
            for name, fits in found.items():
                one[name] = quality(fits.split(number).probabilities(z, agreed), y, bins)
            if agree.shape[1]:
                table = agreement_table(agree[some[number]], _right(logits, labels, some[number]))
                one["agreement"] = calibration_errors(table.confidence(agreed), z.argmax(1) == y, bins)
            yield one


def _right(logits: Tensor, labels: Tensor, rows: Tensor) -> Tensor:
    return logits[rows].argmax(1) == labels[rows]


def _method(name: str, found: Sequence[tuple[float, float] | CalibrationQuality]) -> MethodQuality:
    rows = [asdict(one) if isinstance(one, CalibrationQuality) else {"ece": one[0], "mce": one[1]} for one in found]
    spreads = {key: _spread([row[key] for row in rows]) for key in rows[0]}
    return MethodQuality(
        method=name,
        ece=spreads["ece"],
        mce=spreads["mce"],
        brier=spreads.get("brier"),
        nll=spreads.get("nll"),
        classwise_ece=spreads.get("classwise_ece"),
    )


def _spread(values: Sequence[float]) -> Spread:
    return Spread(mean=fmean(values), std=stdev(values) if len(values) > 1 else 0.0)


def _literally(
    logits: Tensor, labels: Tensor, agree: Tensor, share: float, fit: Tensor, measured: Tensor, bins: int
) -> Iterator[LiteralRecord]:
    methods: dict[str, Tensor | None] = {"h_T": None}
    if agree.shape[1]:
        methods["h_aug"] = agree[fit]
    for name, agreed in methods.items():
        batch = None if agreed is None else agreed[None]
        converged = fit_temperatures(logits[fit][None], labels[fit][None], batch).split(0)
        errors = _errors(logits[measured], labels[measured], agree[measured], bins)
        literal: Temperature | None = None
        with suppress(CodednetError):
            literal = literal_fit(logits[fit], labels[fit], agreed)
        own = (None, None) if literal is None else errors(literal)
        best = errors(converged)
        yield LiteralRecord(
            method=name,
            share=share,
            literal=literal,
            converged=converged,
            literal_ece=own[0],
            converged_ece=best[0],
            literal_mce=own[1],
            converged_mce=best[1],
        )


def _errors(logits: Tensor, labels: Tensor, agree: Tensor, bins: int) -> Callable[[Temperature], tuple[float, float]]:
    def measure(temperature: Temperature) -> tuple[float, float]:
        top = temperature.probabilities(logits, agree).max(1)
        return calibration_errors(top.values, top.indices == labels, bins)

    return measure
