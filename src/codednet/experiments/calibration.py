"""Calibration: what the run's predictions use, measured on the test split, and the paper's protocol beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from codednet.decoding.calibration import (
    FITTED_ON,
    MeasuredConfidence,
    fit_calibration,
    measure_calibration,
)
from codednet.decoding.early import agreements
from codednet.decoding.metrics import BINS
from codednet.decoding.protocol import SHARES, SPLITS, ProtocolRecord, run_protocol
from codednet.decoding.store import keep
from codednet.decoding.temperature import Temperature
from codednet.errors import CodednetError
from codednet.experiments.experiment import Experiment, Table
from codednet.experiments.subject import Subject
from codednet.runs.collect import Collected

SPLIT = "test"
# The paper's (ECE, MCE) of h_T and of h_aug in percent, by the share that is fitted on.
PAPER = {
    0.25: {
        "CIFAR-10": {"h_T": (0.70, 24.35), "h_aug": (0.70, 24.14)},
        "CIFAR-100": {"h_T": (1.75, 10.28), "h_aug": (1.71, 9.31)},
        "ImageNet": {"h_T": (2.98, 8.32), "h_aug": (3.00, 7.70)},
    },
    0.5: {
        "CIFAR-10": {"h_T": (0.80, 24.83), "h_aug": (0.80, 23.64)},
        "CIFAR-100": {"h_T": (1.82, 11.37), "h_aug": (1.79, 10.44)},
        "ImageNet": {"h_T": (3.01, 8.56), "h_aug": (3.05, 8.10)},
    },
}


@dataclass(frozen=True, kw_only=True)
class CalibrationOptions:
    """How the protocol is run, and how fine confidences are binned."""

    splits: int = SPLITS
    """Random splits for each share."""
    bins: int = BINS
    """Bins of confidence, of equal width."""
    seed: int = 0
    """Seed of the splits."""

    def __post_init__(self) -> None:
        for name in ("splits", "bins"):
            if getattr(self, name) < 1:
                raise CodednetError(f"{name} must be 1 or more; got {getattr(self, name)}.")


@dataclass(frozen=True, kw_only=True)
class FittedConfidence:
    """What predictions use: fitted on tune-fit, and no image of the test split had a part in it."""

    fitted_on: str
    images: int
    """That it was fitted on."""
    h_T: float  # noqa: N815
    h_aug: Temperature | None
    """None of a network without early decoders."""
    methods: tuple[MeasuredConfidence, ...]
    """softmax as it is, h_T, h_aug and the table of agreement, on the test split."""
    kept: Mapping[str, Any]
    """What is kept in the run for predictions."""


@dataclass(frozen=True, kw_only=True)
class CalibrationRecord:
    """Confidences and what they are worth."""

    split: str
    images: int
    accuracy: float
    bins: int
    fitted: FittedConfidence | None
    why_not_fitted: str
    """Empty where it was."""
    protocol: ProtocolRecord | None
    """Its fits are on parts of the test split, and end with it: nothing else uses them."""
    why_no_protocol: str
    """Empty where it was run."""
    left_out: tuple[str, ...]
    """Images of either split that could not be read."""


def measure(subject: Subject, options: CalibrationOptions) -> CalibrationRecord:
    """Both parts; the first needs a tune split, the second images enough to be split."""
    found = subject.collected(SPLIT)
    fitted, why_not = None, ""
    if subject.data.config.has_tune:
        fitted = _fitted(subject, found, options.bins)
    else:
        why_not = "There is no tune split to fit on: the run trained on everything. Train with --data.tune=0.1 for one."
    protocol, why_no_protocol = None, ""
    try:
        protocol = run_protocol(
            found.logits,
            found.labels,
            _agree(subject, found),
            splits=options.splits,
            shares=SHARES,
            bins=options.bins,
            seed=options.seed,
        )
    except CodednetError as error:
        if fitted is None:
            raise
        why_no_protocol = str(error)
    return CalibrationRecord(
        split=SPLIT,
        images=len(found.labels),
        accuracy=float((found.logits.argmax(1) == found.labels).double().mean()),
        bins=options.bins,
        fitted=fitted,
        why_not_fitted=why_not,
        protocol=protocol,
        why_no_protocol=why_no_protocol,
        left_out=tuple(
            name
            for split in ([SPLIT] if fitted is None else [FITTED_ON, SPLIT])
            for name in subject.collected(split).unreadable
        ),
    )


def _fitted(subject: Subject, found: Collected, bins: int) -> FittedConfidence:
    calibration = fit_calibration(subject.model, subject.collected(FITTED_ON))
    return FittedConfidence(
        fitted_on=calibration.fitted_on,
        images=calibration.images,
        h_T=calibration.h_T.temperature,
        h_aug=calibration.h_aug,
        methods=measure_calibration(calibration, subject.model, found, bins),
        kept=calibration.document(),
    )


def _agree(subject: Subject, found: Collected) -> Tensor:
    if not found.energies:
        return torch.zeros(len(found.labels), 0, dtype=torch.bool)
    return agreements(found.logits.argmax(1), found.energies, subject.model.codes)


def _keep(subject: Subject, record: CalibrationRecord) -> None:
    # A run whose training goes on has other weights by now, which nothing was fitted for.
    if record.fitted is not None and subject.folder.weights_digest() == subject.digest:
        keep(subject.folder, "calibration", dict(record.fitted.kept))


def tables(record: CalibrationRecord) -> tuple[Table, ...]:
    """Quality of what predictions use, its reliability, the protocol, and its literal fits."""
    found: list[Table] = []
    if record.fitted is not None:
        found += [_quality(record, record.fitted), _reliability(record.fitted)]
    if record.protocol is not None:
        found += [_protocol(record.protocol), _literal(record.protocol)]
    return tuple(found)


def _quality(record: CalibrationRecord, fitted: FittedConfidence) -> Table:
    rows = []
    for one in fitted.methods:
        q = one.quality
        rest = (None, None, None) if q is None else (q.brier, q.nll, q.classwise_ece)
        rows.append((one.method, one.ece, one.mce, *rest))
    return Table(
        name="",
        title=f"Confidences fitted on {fitted.fitted_on}, on {record.images:,} images of {record.split}",
        columns=("method", "ECE", "MCE", "Brier score", "NLL", "class-wise ECE"),
        rows=tuple(rows),
    )


def _reliability(fitted: FittedConfidence) -> Table:
    return Table(
        name="reliability",
        title="Reliability: accuracy beside confidence, bin by bin",
        columns=("method", "from", "to", "images", "confidence", "accuracy"),
        rows=tuple(
            (one.method, bar.lower, bar.upper, bar.images, bar.confidence, bar.accuracy)
            for one in fitted.methods
            for bar in one.reliability
        ),
    )


def _protocol(protocol: ProtocolRecord) -> Table:
    rows = []
    for share in protocol.shares:
        for one in share.methods:
            spreads = (one.ece, one.mce, one.brier, one.nll, one.classwise_ece)
            numbers = [number for s in spreads for number in ((None, None) if s is None else (s.mean, s.std))]
            rows.append((share.share, one.method, *numbers))
    heads = ("ECE", "MCE", "Brier score", "NLL", "class-wise ECE")
    return Table(
        name="protocol",
        title=f"The paper's protocol: mean and standard deviation over {protocol.splits} splits of the test images",
        columns=("share fitted on", "method", *(f"{head}{end}" for head in heads for end in ("", " std"))),
        rows=tuple(rows),
    )


def _literal(protocol: ProtocolRecord) -> Table:
    return Table(
        name="literal",
        title="One split: the paper's 600 gradient steps beside a converged fit",
        columns=("share fitted on", "method", "T", "T converged", "ECE", "ECE converged", "MCE", "MCE converged"),
        rows=tuple(
            (
                one.share,
                one.method,
                None if one.literal is None else one.literal.temperature,
                one.converged.temperature,
                one.literal_ece,
                one.converged_ece,
                one.literal_mce,
                one.converged_mce,
            )
            for one in protocol.literal
        ),
    )


EXPERIMENT = Experiment(
    name="calibration",
    title="Confidence calibration",
    version=1,
    record=CalibrationRecord,
    measure=measure,
    tables=tables,
    options=CalibrationOptions,
    keep=_keep,
)
