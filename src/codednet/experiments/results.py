"""Results of experiments in a run's folder: read where nothing has changed, else measured and written."""

import csv
import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Any, Generic, TypeVar

from codednet.atomic import write_whole
from codednet.errors import CodednetError
from codednet.experiments.documents import from_document, to_document
from codednet.experiments.experiment import Experiment, Need, Table
from codednet.experiments.keys import key_of
from codednet.experiments.subject import Subject
from codednet.runs.folder import RunFolder

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
    key = to_document(key_of(experiment, subject, chosen))
    stored = _stored(subject, name)
    document = None if fresh or stored is None or stored.get("key") != key else stored
    record = None if document is None else _read(experiment, document)
    cached = record is not None
    if record is None or document is None:
        document = _measured(experiment, subject, chosen, key)
        # What is shown is what is kept, now and when it is read again.
        record = from_document(experiment.record, document["record"])
        tables = experiment.tables(record)
        # In this order whatever ends it halfway: tables that are there are always of the record that is there.
        _remove_tables(subject, stored)
        _remove_tables(subject, document)
        subject.folder.write_json(name, document)
        _write_tables(subject, name, tables)
    else:
        _write_tables(subject, name, experiment.tables(record), only_missing=True)
    if experiment.keep is not None:
        experiment.keep(subject, record)
    return Result(record=record, document=document, file=name, cached=cached)


def _measured(experiment: Experiment[O, R], subject: Subject, options: Any, key: dict[str, Any]) -> dict[str, Any]:
    started = time.monotonic()
    record = experiment.measure(subject, options)
    seconds = time.monotonic() - started
    name = experiment.file_name(options)
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "key": key,
        "tables": [_file_name(name, table) for table in experiment.tables(record)],
        "record": to_document(record),
    }


def missing(experiment: Experiment[Any, Any], subject: Subject) -> Missing | None:
    """The first thing that the experiment needs and the subject does not have."""
    has: dict[Need, Callable[[], object]] = {
        "coded": lambda: subject.model.codes,
        "tune": lambda: subject.data.config.has_tune,
        "baseline": lambda: subject.baseline,
        "sweep": lambda: subject.sweep,
        "against": lambda: subject.against,
    }
    lacking = next((need for need, found in has.items() if need in experiment.needs and not found()), None)
    return None if lacking is None else _lacking(lacking, subject.folder)


def _lacking(need: Need, folder: RunFolder) -> Missing:
    # A run's own config is a recipe: of the same data, options and seed.
    run, recipe = quote(str(folder.path)), quote(str(folder.config_file))
    what, command = {
        "coded": (
            "This needs coded blocks, and the network is plain; train the coded one by the same recipe:",
            f"codednet train {recipe} --model.coded=true -o {run}-coded",
        ),
        "tune": (
            "This is fitted on a tune split, and the run trained on everything; train with one:",
            f"codednet train {recipe} --data.tune=0.1 -o {run}-tune",
        ),
        "baseline": (
            "This compares with the plain twin; train it by the same recipe, and name its run with --baseline:",
            f"codednet train {recipe} --model.coded=false -o {run}-plain",
        ),
        "sweep": (
            "This reads a sweep of trainings; make one, and name its folder with --sweep:",
            f"codednet sweep {recipe} --set coding.mu=0,2,6 -o {run}-sweep",
        ),
        "against": (
            "This needs images of none of the classes; name a data set or a folder of images with --against:",
            f"codednet report {run} --against mnist",
        ),
    }[need]
    return Missing(need=need, what=what, command=command)


def csv_text(table: Table) -> str:
    """The table as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return text.getvalue()


def _file_name(name: str, table: Table) -> str:
    return f"{name}.csv" if table.name == "" else f"{name}-{table.name}.csv"


def _write_tables(subject: Subject, name: str, tables: Sequence[Table], *, only_missing: bool = False) -> None:
    folder = subject.folder.results
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        file, text = folder / _file_name(name, table), csv_text(table)
        if not only_missing or not file.is_file():
            write_whole(file, lambda path, text=text: path.write_text(text, encoding="utf-8"))  # type: ignore[misc]


def _remove_tables(subject: Subject, document: dict[str, Any] | None) -> None:
    """Remove the CSV files that a document of before lists: the next one may have others."""
    names = (document or {}).get("tables")
    for name in names if isinstance(names, list) else []:
        if isinstance(name, str) and name.endswith(".csv") and Path(name).name == name:
            (subject.folder.results / name).unlink(missing_ok=True)


def _stored(subject: Subject, name: str) -> dict[str, Any] | None:
    """The document of this name; None where there is none, or one that cannot be read."""
    try:
        document = subject.folder.read_json(name)
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def _read(experiment: Experiment[O, R], document: dict[str, Any]) -> R | None:
    try:
        return from_document(experiment.record, document["record"])
    except (KeyError, TypeError, ValueError):
        return None
