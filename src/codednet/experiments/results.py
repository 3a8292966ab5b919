"""Results of experiments in a run's folder: read where nothing has changed, else measured and written."""

import csv
import io
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from codednet.atomic import write_whole
from codednet.errors import CodednetError
from codednet.experiments.documents import from_document, to_document
from codednet.experiments.experiment import Experiment, Need, Table
from codednet.experiments.keys import key_of
from codednet.experiments.subject import Subject

O = TypeVar("O")  # noqa: E741
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Missing:
    """What an experiment lacks, in a sentence, and the command that makes it."""

    need: Need
    what: str
    command: str


class MissingError(CodednetError):
    """An experiment was asked of a run that lacks what it needs."""

    def __init__(self, missing: Missing) -> None:
        super().__init__(f"{missing.what} {missing.command}")
        self.missing = missing


@dataclass(frozen=True, kw_only=True)
class Result(Generic[R]):
    """A record, and where it comes from."""

    record: R
    document: dict[str, Any]
    """What the JSON file holds."""
    file: str
    """Name of the file in the run's results/, without suffix."""
    cached: bool
    """Whether it was there, and nothing that it depends on has changed."""


def result(
    experiment: Experiment[O, R], subject: Subject, options: O | None = None, *, fresh: bool = False
) -> Result[R]:
    """The record of an experiment, in results/NAME.json and, its tables, in results/NAME*.csv.

    What is there is read, unless `fresh` or the network, words, data, options or version are others than it was
    measured with.
    """
    lacking = missing(experiment, subject)
    if lacking is not None:
        raise MissingError(lacking)
    chosen: Any = experiment.options() if options is None else options
    name = experiment.file_name(chosen)
    key = key_of(experiment, subject, chosen)
    document = None if fresh else _stored(subject, name, key)
    record = None if document is None else _read(experiment, document)
    cached = record is not None
    if record is None or document is None:
        started = time.monotonic()
        record = experiment.measure(subject, chosen)
        document = {
            "experiment": experiment.name,
            "title": experiment.title,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - started, 3),
            "key": to_document(key),
            "record": to_document(record),
        }
        subject.folder.write_json(name, document)
        for table in experiment.tables(record):
            _write_csv(subject, name, table)
    if experiment.keep is not None:
        experiment.keep(subject, record)
    return Result(record=record, document=document, file=name, cached=cached)


def missing(experiment: Experiment[Any, Any], subject: Subject) -> Missing | None:
    """The first thing that the experiment needs and the subject does not have."""
    path = subject.folder.path
    if "coded" in experiment.needs and not subject.model.codes:
        return Missing(
            need="coded", what="This needs coded blocks, and the network is plain.", command="codednet train RECIPE"
        )
    if "tune" in experiment.needs and not subject.data.config.has_tune:
        return Missing(
            need="tune",
            what="This is fitted on a tune split, and the run trained on everything.",
            command="codednet train RECIPE --data.tune=0.1",
        )
    if "baseline" in experiment.needs and subject.baseline is None:
        recipe = subject.folder.config().recipe or "RECIPE"
        return Missing(
            need="baseline",
            what="This compares with the plain twin, trained by the same recipe; name its run with --baseline.",
            command=f"codednet train {recipe} --model.coded=false -o {path}-plain",
        )
    if "sweep" in experiment.needs and subject.sweep is None:
        recipe = subject.folder.config().recipe or "RECIPE"
        return Missing(
            need="sweep",
            what="This reads a sweep of trainings; name its folder with --sweep.",
            command=f"codednet sweep {recipe} --set coding.mu=0,2,6 -o {path}-sweep",
        )
    if "against" in experiment.needs and not subject.against:
        return Missing(
            need="against",
            what="This needs images of none of the classes; name a data set or a folder with --against.",
            command=f"codednet report {path} --against mnist",
        )
    return None


def csv_text(table: Table) -> str:
    """The table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return text.getvalue()


def _write_csv(subject: Subject, name: str, table: Table) -> None:
    file = subject.folder.results / (f"{name}.csv" if table.name == "" else f"{name}-{table.name}.csv")
    text = csv_text(table)
    write_whole(file, lambda path: path.write_text(text, encoding="utf-8"))


def _stored(subject: Subject, name: str, key: dict[str, Any]) -> dict[str, Any] | None:
    """The document of this key; None where there is none, or one of another key or that cannot be read."""
    try:
        document = subject.folder.read_json(name)
    except ValueError:
        return None
    if not isinstance(document, dict) or document.get("key") != to_document(key):
        return None
    return document


def _read(experiment: Experiment[O, R], document: dict[str, Any]) -> R | None:
    try:
        return from_document(experiment.record, document["record"])
    except (KeyError, TypeError, ValueError):
        return None
