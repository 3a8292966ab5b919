"""Early decoders (figure 4 of the paper): how often the nearest word of each coded block names the class."""

from dataclasses import dataclass

from codednet.decoding.early import accuracy_by_block
from codednet.experiments.experiment import Experiment, NoOptions, Table
from codednet.experiments.subject import Subject

SPLIT = "test"


@dataclass(frozen=True, kw_only=True)
class EarlyDecoder:
    """One coded block, in order of depth."""

    block: str
    accuracy: float
    """Share of images whose class the word nearest to the block's energies names."""


@dataclass(frozen=True, kw_only=True)
class EarlyRecord:
    """Accuracy by depth."""

    split: str
    images: int
    decoders: tuple[EarlyDecoder, ...]
    accuracy: float
    """Of the whole network."""


def measure(subject: Subject, options: NoOptions) -> EarlyRecord:
    """Accuracy of every early decoder on the test split."""
    found = subject.collected(SPLIT)
    accuracies = accuracy_by_block(found.energies, subject.model.codes, found.labels).tolist()
    names = subject.model.coded_blocks
    return EarlyRecord(
        split=SPLIT,
        images=len(found.labels),
        decoders=tuple(EarlyDecoder(block=name, accuracy=a) for name, a in zip(names, accuracies, strict=True)),
        accuracy=float((found.logits.argmax(1) == found.labels).double().mean()),
    )


def tables(record: EarlyRecord) -> tuple[Table, ...]:
    """A row a block, and last the whole network."""
    rows = [(one.block, one.accuracy) for one in record.decoders]
    table = Table(
        name="",
        title=f"Accuracy after each coded block, on {record.images:,} images of {record.split}",
        columns=("after block", "accuracy"),
        rows=(*rows, ("whole network", record.accuracy)),
    )
    return (table,)


EXPERIMENT = Experiment(
    name="early",
    title="Early decoders",
    version=1,
    record=EarlyRecord,
    measure=measure,
    tables=tables,
    needs=frozenset({"coded"}),
)
