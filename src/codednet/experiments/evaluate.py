"""Accuracy on a split: overall, class by class, block by block, and which classes are taken for which."""

from dataclasses import dataclass, fields

from codednet.experiments.experiment import Experiment, Table
from codednet.experiments.subject import Subject
from codednet.runs.evaluation import Evaluation, evaluate


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """What is evaluated."""

    split: str = "test"
    """test, tune, tune-fit, tune-risk or train."""


@dataclass(frozen=True, kw_only=True)
class EvaluateRecord(Evaluation):
    """What a split says of a network, and which images could not say anything."""

    left_out: tuple[str, ...]
    """Names of the unreadable images."""


def measure(subject: Subject, options: EvaluateOptions) -> EvaluateRecord:
    """Accuracies of one pass over the split."""
    found = subject.collected(options.split)
    evaluation = evaluate(subject.model, found, subject.names(), options.split)
    values = {field.name: getattr(evaluation, field.name) for field in fields(Evaluation)}
    return EvaluateRecord(**values, left_out=found.unreadable)


def tables(record: EvaluateRecord) -> tuple[Table, ...]:
    """A row a class; a row an early decoder; and the confusions."""
    names = tuple(one.name for one in record.classes)
    classes = Table(
        name="",
        title=f"Accuracy class by class, on {record.images:,} images of {record.split}",
        columns=("class", "images", "accuracy", "mostly taken for"),
        rows=tuple((one.name, one.images, one.accuracy, one.taken_for) for one in record.classes),
    )
    confusions = Table(
        name="confusions",
        title="Images by class (rows) and by prediction (columns)",
        columns=("class", *names),
        rows=tuple((name, *row) for name, row in zip(names, record.confusion, strict=True)),
    )
    return classes, confusions


def _variant(options: EvaluateOptions) -> str:
    return options.split


EXPERIMENT = Experiment(
    name="evaluate",
    title="Accuracy, class by class",
    version=1,
    record=EvaluateRecord,
    measure=measure,
    tables=tables,
    options=EvaluateOptions,
    variant=_variant,
)
