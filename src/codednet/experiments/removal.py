"""Branch removal (figure 2a and its appendix): accuracy without some active, or inactive, branches of one block."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torch import Tensor

from codednet.data import Batch
from codednet.experiments.experiment import Experiment, Table
from codednet.experiments.sample import Sample, sampled
from codednet.experiments.subject import Subject
from codednet.paths.removal import RemovalCurve, removal_curves
from codednet.runs.collect import evaluating


@dataclass(frozen=True, kw_only=True)
class RemovalOptions:
    """On what the curves are measured."""

    images: int = 2000
    """Most test images, drawn class by class where there are more; 0 takes all."""
    seed: int = 0
    """Seed of that draw, and of the branches that go."""


@dataclass(frozen=True, kw_only=True)
class Removal:
    """Curves of all coded blocks, in order of depth."""

    sample: Sample
    unreadable: tuple[str, ...]
    """Images that were left out."""
    accuracy: float
    """Of the whole network, with all branches."""
    curves: tuple[RemovalCurve, ...]


def measure(subject: Subject, options: RemovalOptions) -> Removal:
    """Accuracy on test images by block and number of branches removed."""
    loader, sample = sampled(subject, options.images, options.seed)
    with evaluating(subject.model, subject.device):
        curves = removal_curves(subject.model, _pairs(loader), seed=options.seed)
    return Removal(
        sample=sample, unreadable=tuple(sorted(loader.unreadable)), accuracy=curves[0].active[0], curves=curves
    )


def tables(record: Removal) -> tuple[Table, ...]:
    """A row for each block, kind of branches and number removed."""
    rows = [
        (curve.block, kind, removed, len(accuracies) - 1, accuracy)
        for curve in record.curves
        for kind, accuracies in (("active", curve.active), ("inactive", curve.inactive))
        for removed, accuracy in enumerate(accuracies)
    ]
    return (
        Table(
            name="",
            title=f"Accuracy without some branches of one block, {record.curves[0].images:,} test images",
            columns=("block", "branches", "removed", "of", "accuracy"),
            rows=tuple(rows),
        ),
    )


def _pairs(batches: Iterable[Batch]) -> Iterator[tuple[Tensor, Tensor]]:
    return ((batch.images, batch.labels) for batch in batches)


EXPERIMENT = Experiment(
    name="removal",
    title="Branch removal",
    version=1,
    record=Removal,
    measure=measure,
    tables=tables,
    options=RemovalOptions,
    needs=frozenset({"coded"}),
)
