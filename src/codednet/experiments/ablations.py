"""Ablations (sections 3.1 and 3.2 and appendix B of the paper): trainings of a sweep, and what they differ in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from codednet.codes import find_code
from codednet.errors import CodednetError
from codednet.experiments import codes
from codednet.experiments.digests import source_digest
from codednet.experiments.early import SPLIT, EarlyDecoder
from codednet.experiments.experiment import Cell, Experiment, NoOptions, Table
from codednet.experiments.keys import runs_in, unfinished_in
from codednet.experiments.measures import family_of
from codednet.experiments.settings import Trained, differences, without_seed
from codednet.experiments.subject import Subject
from codednet.paths.families import DetectorOptions, fit_split
from codednet.paths.thresholds import Quality
from codednet.runs.evaluation import evaluate


@dataclass(frozen=True, kw_only=True)
class CodeFacts:
    """One code of a run, beside the code that is used where nobody asks for another."""

    blocks: tuple[str, ...]
    active: int
    branches: int
    min_distance: int
    usual_distance: int
    """Smallest distance of the usual code."""
    spread: int
    """Largest load of a branch less the smallest."""
    usual_spread: int
    meets_rules: bool
    """Whether words are as far apart as the usual code's, and loads as even, or as even as can be."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """One run of the sweep, on the test split."""

    run: str
    """Name of its folder."""
    settings: Mapping[str, Cell]
    """Fields of its config that are not the same in all runs; None is one that means nothing in a plain run."""
    accuracy: float
    decoders: tuple[EarlyDecoder, ...] | None
    """None without coded blocks."""
    detectors: Quality | None
    """Of the networks of one class, mean over the classes; None without coded blocks."""
    codes: tuple[CodeFacts, ...]


@dataclass(frozen=True, kw_only=True)
class Range:
    """Mean, least and most over repeats; all three alike of a single run."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Runs that differ in the seed alone, or in nothing."""

    settings: Mapping[str, Cell]
    """Fields that tell it from the others, the seed not among them."""
    runs: tuple[str, ...]
    accuracy: Range
    decoders: Mapping[str, Range] | None
    """By block; None without coded blocks."""
    f1: Range | None
    """Of the detectors."""
    meets_rules: bool | None
    """Whether all codes of all runs do; None without codes."""


@dataclass(frozen=True, kw_only=True)
class AblationsRecord:
    """A sweep."""

    split: str
    images: int
    """Of the split."""
    fit_on: str | None
    """Split that thresholds were fitted on; None where no run has detectors."""
    fields: tuple[str, ...]
    """Fields of the config that are not the same in all runs, as the command line names them."""
    blocks: tuple[str, ...]
    """Blocks that are coded in some run, in order of depth."""
    runs: tuple[Training, ...]
    settings: tuple[Setting, ...]
    unfinished: tuple[str, ...]
    """Trainings that had not come to their end when this was measured; they are left out."""


def measure(subject: Subject, options: NoOptions) -> AblationsRecord:
    """Every finished run of the sweep on the test split, each opened once."""
    assert subject.sweep is not None
    trained, found = [], []
    for folder in runs_in(subject.sweep):
        run = Subject(folder, root=subject.root, batch=subject.batch, device=subject.device)
        check_same_data(subject, run)
        trained.append(Trained(folder.config(), run.model.config))
        found.append(_training(run, subject))
    # What a run differs in is known once all have been seen.
    runs = tuple(replace(one, settings=own) for one, own in zip(found, differences(trained), strict=True))
    blocks = {decoder.block for run in runs for decoder in run.decoders or ()}
    return AblationsRecord(
        split=SPLIT,
        images=len(subject.data.indices(SPLIT)),
        fit_on=fit_split(subject.data) if blocks else None,
        fields=tuple(runs[0].settings),
        blocks=tuple(sorted(blocks, key=_depth)),
        runs=runs,
        settings=_settings(runs),
        unfinished=unfinished_in(subject.sweep),
    )


def check_same_data(subject: Subject, run: Subject) -> None:
    """Refuse a run that saw other classes, splits or images than the subject's: their numbers cannot be compared."""
    ours, theirs = subject.data, run.data
    if ours.classes != theirs.classes:
        other = "classes"
    elif ours.splits.keys() != theirs.splits.keys() or not all(
        np.array_equal(ours.indices(name), theirs.indices(name))
        and np.array_equal(ours.labels(name), theirs.labels(name))
        for name in ours.splits
    ):
        other = "splits"
    elif _images(subject) != _images(run):
        other = "images"
    else:
        return
    raise CodednetError(
        f"all runs of a sweep must see the same data as '{subject.folder.path}', and the {other} of "
        f"'{run.folder.path}' are others. Keep trainings on other data in a folder of their own, and report "
        "one of them with it: `codednet report RUN --sweep FOLDER`."
    )


def _images(subject: Subject) -> str:
    return subject.once("test images", lambda: source_digest(subject.data.source, subject.data.indices(SPLIT)))


def _training(run: Subject, subject: Subject) -> Training:
    """The measures of a run, its settings still to come."""
    seen = evaluate(run.model, run.collected(SPLIT), run.names(), SPLIT)
    found = Training(
        run=run.folder.path.name, settings={}, accuracy=seen.accuracy, decoders=None, detectors=None, codes=()
    )
    if not run.model.codes:
        return found
    family = family_of(run.model, run, DetectorOptions())
    return replace(
        found,
        decoders=tuple(EarlyDecoder(block=name, accuracy=share) for name, share in seen.decoders.items()),
        detectors=family.in_distribution,
        codes=tuple(_facts(row, subject) for row in codes.measure(run, NoOptions()).codes),
    )


def _facts(row: codes.CodeRow, subject: Subject) -> CodeFacts:
    numbers = row.classes, row.branches, row.active
    usual = subject.once(("usual code", *numbers), lambda: find_code(*numbers))
    return CodeFacts(
        blocks=row.blocks,
        active=row.active,
        branches=row.branches,
        min_distance=row.min_distance,
        usual_distance=usual.min_distance,
        spread=row.spread,
        usual_spread=usual.spread,
        meets_rules=row.min_distance >= usual.min_distance and row.spread <= max(1, usual.spread),
    )


def _settings(runs: Sequence[Training]) -> tuple[Setting, ...]:
    """Repeats together, in the order of the runs."""
    repeats: dict[tuple[Cell, ...], list[Training]] = {}
    for run in runs:
        repeats.setdefault(tuple(without_seed(run.settings).values()), []).append(run)
    return tuple(_setting(group) for group in repeats.values())


def _setting(group: Sequence[Training]) -> Setting:
    first = group[0]
    blocks = None
    if first.decoders is not None:
        columns = zip(*(run.decoders or () for run in group), strict=True)
        blocks = {column[0].block: _range([one.accuracy for one in column]) for column in columns}
    f1 = [run.detectors.f1 for run in group if run.detectors is not None]
    return Setting(
        settings=without_seed(first.settings),
        runs=tuple(run.run for run in group),
        accuracy=_range([run.accuracy for run in group]),
        decoders=blocks,
        f1=_range(f1) if f1 else None,
        meets_rules=all(code.meets_rules for run in group for code in run.codes) if first.codes else None,
    )


def _range(values: Sequence[float]) -> Range:
    return Range(mean=fmean(values), low=min(values), high=max(values))


def _depth(block: str) -> tuple[int, ...]:
    return tuple(int(part) for part in block.removeprefix("layer").split("."))


def tables(record: AblationsRecord) -> tuple[Table, ...]:
    """A row a run; a row a run and block; and, where there are repeats, a row for each setting with its range."""
    runs = Table(
        name="",
        title=f"Trainings of the sweep, on {record.images:,} images of {record.split}",
        columns=(
            "run",
            *record.fields,
            "accuracy",
            "precision",
            "recall",
            "F1",
            "distances",
            "spreads",
            "codes meet the rules",
        ),
        rows=tuple(_row(run) for run in record.runs),
    )
    blocks = Table(
        name="blocks",
        title="Accuracy of the early decoders",
        columns=("run", *record.fields, "block", "accuracy"),
        rows=tuple(
            (run.run, *run.settings.values(), one.block, one.accuracy)
            for run in record.runs
            for one in run.decoders or ()
        ),
    )
    found = (runs, blocks) if record.blocks else (runs,)
    return found if len(record.settings) == len(record.runs) else (*found, _repeats(record))


def _row(run: Training) -> tuple[Cell, ...]:
    quality = run.detectors
    cells = (None,) * 3 if quality is None else (quality.precision, quality.recall, quality.f1)
    if not run.codes:
        return run.run, *run.settings.values(), run.accuracy, *cells, None, None, None
    return (
        run.run,
        *run.settings.values(),
        run.accuracy,
        *cells,
        ", ".join(str(code.min_distance) for code in run.codes),
        ", ".join(str(code.spread) for code in run.codes),
        "yes" if all(code.meets_rules for code in run.codes) else "no",
    )


def _repeats(record: AblationsRecord) -> Table:
    rows = []
    for one in record.settings:
        f1 = (None,) * 3 if one.f1 is None else (one.f1.mean, one.f1.low, one.f1.high)
        accuracy = one.accuracy.mean, one.accuracy.low, one.accuracy.high
        rows.append((*one.settings.values(), len(one.runs), *accuracy, *f1))
    measures = ("accuracy", "least accuracy", "most accuracy", "F1", "least F1", "most F1")
    return Table(
        name="repeats",
        title="Mean and range over runs that differ in the seed alone",
        columns=(*record.settings[0].settings, "runs", *measures),
        rows=tuple(rows),
    )


EXPERIMENT = Experiment(
    name="ablations",
    title="Ablations",
    version=1,
    record=AblationsRecord,
    measure=measure,
    tables=tables,
    needs=frozenset({"sweep"}),
)
