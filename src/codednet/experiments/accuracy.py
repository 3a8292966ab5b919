"""Accuracy against the plain twin (table 2 of the paper), on the same images, with what chance could have done."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from codednet.experiments.experiment import Experiment, NoOptions, Table
from codednet.experiments.joint import DRAWS, LEVEL, Difference, paired_bootstrap
from codednet.experiments.subject import Subject
from codednet.runs.collect import Collected

SPLIT = "test"


@dataclass(frozen=True, kw_only=True)
class Twin:
    """The plain twin on the same images."""

    accuracy: Difference
    """Its accuracy, with the ends of a bootstrap interval."""
    difference: Difference
    """Accuracy of the run less the twin's; images are drawn anew with both answers."""
    both_right: int
    only_run: int
    """Images that the run alone is right on."""
    only_twin: int
    """Images that the twin alone is right on."""
    both_wrong: int
    p_value: float
    """Of McNemar's exact test: how often a fair coin would part the images that one alone is right on as unevenly."""


@dataclass(frozen=True, kw_only=True)
class AccuracyRecord:
    """The run's accuracy, and its twin's where there is one."""

    split: str
    images: int
    data: str
    """Name of the data set."""
    model: str
    mu: float
    drop_branch: float
    accuracy: Difference
    """Its mean is the accuracy, its ends those of a bootstrap interval."""
    twin: Twin | None
    level: float
    """Confidence of the intervals."""
    draws: int
    """Bootstrap samples behind them."""


def measure(subject: Subject, options: NoOptions) -> AccuracyRecord:
    """Accuracy on the test split, of the run and of the baseline if it was given one."""
    config = subject.folder.config()
    ours = _right(subject.collected(SPLIT))
    return AccuracyRecord(
        split=SPLIT,
        images=len(ours),
        data=config.data.name,
        model=subject.model.config.architecture,
        mu=config.coding.mu,
        drop_branch=config.coding.drop_branch,
        accuracy=_share(ours),
        twin=None if subject.baseline is None else compare(ours, _right(subject.twin_collected(SPLIT))),
        level=LEVEL,
        draws=DRAWS,
    )


def compare(ours: Bool[Tensor, " images"], theirs: Bool[Tensor, " images"]) -> Twin:
    """The twin's answers beside the run's, image by image."""
    only_run, only_twin = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    return Twin(
        accuracy=_share(theirs),
        difference=paired_bootstrap(ours, theirs),
        both_right=int((ours & theirs).sum()),
        only_run=only_run,
        only_twin=only_twin,
        both_wrong=int((~ours & ~theirs).sum()),
        p_value=mcnemar(only_run, only_twin),
    )


def mcnemar(first: int, second: int) -> float:
    """Two-sided p-value of McNemar's exact test, from the images that one of two is right on alone.

    >>> mcnemar(5, 0), mcnemar(3, 3)
    (0.0625, 1.0)
    """
    total = first + second
    # Each binomial coefficient from the one before: of ten thousand images, a moment instead of seconds.
    term = tail = 1
    for k in range(min(first, second)):
        term = term * (total - k) // (k + 1)
        tail += term
    return float(min(1.0, 2 * tail / 2**total))


def _right(found: Collected) -> Bool[Tensor, " images"]:
    return found.logits.argmax(1) == found.labels


def _share(right: Bool[Tensor, " images"]) -> Difference:
    """Share of images that are right: its difference from never."""
    return paired_bootstrap(right, torch.zeros_like(right))


def tables(record: AccuracyRecord) -> tuple[Table, ...]:
    """A row a network, and the difference; and how the two answer image by image."""
    rows = [("this run", record.accuracy)]
    if record.twin is not None:
        rows += [("plain twin", record.twin.accuracy), ("difference", record.twin.difference)]
    accuracies = Table(
        name="",
        title=f"Accuracy on {record.images:,} images of {record.split}, with {record.level:.0%} bootstrap intervals",
        columns=("network", "accuracy", "low", "high"),
        rows=tuple((name, one.mean, one.low, one.high) for name, one in rows),
    )
    if record.twin is None:
        return (accuracies,)
    twin = record.twin
    counts = Table(
        name="pairs",
        title=f"Images by who is right (McNemar's exact test: p = {twin.p_value:.2g})",
        columns=("", "twin right", "twin wrong"),
        rows=(("run right", twin.both_right, twin.only_run), ("run wrong", twin.only_twin, twin.both_wrong)),
    )
    return accuracies, counts


EXPERIMENT = Experiment(
    name="accuracy",
    title="Accuracy against the plain twin",
    version=1,
    record=AccuracyRecord,
    measure=measure,
    tables=tables,
    uses=frozenset({"baseline"}),
)
