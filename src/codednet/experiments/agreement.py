"""Accuracy given agreement (table 3 of the paper): how far to trust an answer that so many early decoders share."""

from collections.abc import Sequence
from dataclasses import dataclass

from codednet.decoding.early import AgreementRow, agreement_table, agreements
from codednet.experiments.experiment import Experiment, NoOptions, Table
from codednet.experiments.subject import Subject

SPLIT = "test"
# The paper's last row holds all images with so many agreeing decoders or more.
LAST_ROW = 6
# The paper's accuracies of table 3 in percent, for 0 to 5 agreeing decoders, and 6 or more.
PAPER = {
    "CIFAR-10": (52.0, 67.7, 77.2, 83.2, 89.9, 92.1, 98.1),
    "CIFAR-100": (48.7, 69.5, 77.2, 87.7, 90.7, 90.6, 95.8),
    "ImageNet": (46.6, 70.5, 87.3, 90.7, 90.9, 91.1, 92.6),
}


@dataclass(frozen=True, kw_only=True)
class AgreementRecord:
    """Accuracy of the final prediction by the number of early decoders that name the same class."""

    split: str
    images: int
    decoders: int
    accuracy: float
    """Of the final prediction, on all images."""
    rows: tuple[AgreementRow, ...]
    """For 0, 1, 2, ... agreeing decoders."""


def measure(subject: Subject, options: NoOptions) -> AgreementRecord:
    """The table, on the test split."""
    found = subject.collected(SPLIT)
    predicted = found.logits.argmax(1)
    right = predicted == found.labels
    agree = agreements(predicted, found.energies, subject.model.codes)
    return AgreementRecord(
        split=SPLIT,
        images=len(found.labels),
        decoders=agree.shape[1],
        accuracy=float(right.double().mean()),
        rows=agreement_table(agree, right).rows,
    )


def folded(rows: Sequence[AgreementRow], last: int = LAST_ROW) -> tuple[AgreementRow, ...]:
    """The rows as the paper prints them: those from `last` on as one."""
    tail = [row for row in rows[last:] if row.accuracy is not None]
    if len(rows) <= last:
        return tuple(rows)
    images = sum(row.images for row in tail)
    right = sum(row.images * row.accuracy for row in tail if row.accuracy is not None)
    end = AgreementRow(agreeing=last, images=images, accuracy=right / images if images else None)
    return (*rows[:last], end)


def tables(record: AgreementRecord) -> tuple[Table, ...]:
    """A row for each number of agreeing decoders."""
    table = Table(
        name="",
        title=f"Accuracy given the early decoders that agree, on {record.images:,} images of {record.split}",
        columns=("agreeing decoders", "images", "share of images", "accuracy"),
        rows=tuple((row.agreeing, row.images, row.images / record.images, row.accuracy) for row in record.rows),
    )
    return (table,)


EXPERIMENT = Experiment(
    name="agreement",
    title="Accuracy given agreement of the early decoders",
    version=1,
    record=AgreementRecord,
    measure=measure,
    tables=tables,
    needs=frozenset({"coded"}),
)
