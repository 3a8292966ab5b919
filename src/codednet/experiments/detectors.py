"""Detectors of all classes (figures 2b and 2c): cut out of the run's network, beside what they are compared with."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from codednet.errors import CodednetError
from codednet.experiments.experiment import Cell, Experiment, Table
from codednet.experiments.subject import Subject
from codednet.paths.baseline import check_same_images
from codednet.paths.detectors import Negatives
from codednet.paths.families import DetectorOptions, Family, Sampling, Tables, fit_split, measure_family
from codednet.paths.scoring import Scores
from codednet.paths.stored import Thresholds, read_thresholds, write_thresholds
from codednet.paths.thresholds import Quality

EXTRACTED, WHOLE = "extracted", "whole"
BASELINE_WHOLE, BASELINE_EXTRACTED = "baseline_whole", "baseline_extracted"
TITLES = {
    EXTRACTED: "extracted networks",
    WHOLE: "whole network's logits",
    BASELINE_WHOLE: "plain twin's logits",
    BASELINE_EXTRACTED: "cut out of the plain twin",
}
IN_DISTRIBUTION = "other classes"

Column: TypeAlias = Literal["paths", "logits"]
"""Scores of the networks that are cut out, or of the whole one."""


@dataclass(frozen=True, kw_only=True)
class Detectors:
    """What each family's detectors are worth on the test split, class by class and on average."""

    fit_on: str
    """Split that thresholds were fitted on."""
    precision: float | None
    """Precision that was asked for; the largest F1 was where neither is."""
    recall: float | None
    """Recall that was asked for."""
    negatives: Negatives
    seed: int
    images: Mapping[str, int]
    """Images by what they were for: fit, test."""
    strangers: Mapping[str, int]
    """Images of no class, by the name that they were given with."""
    unreadable: tuple[str, ...]
    """Images that were left out."""
    families: Mapping[str, Family]
    """Of `extracted` networks and of the `whole` network's own logits; with a baseline also of the plain twin's own
    logits, `baseline_whole`, and of what is cut out of the twin along the same words, `baseline_extracted`."""


def measure(subject: Subject, options: DetectorOptions) -> Detectors:
    """Thresholds of all classes fitted on one split, detectors measured on the test split and against strangers."""
    fit_on = fit_split(subject.data, options.fit_on)
    sampling = Sampling(negatives=options.negatives, seed=options.seed)
    ours = {split: subject.scores(split, sampling) for split in _splits(subject, fit_on)}

    def family(scores: Mapping[str, Scores], column: Column, nearest: bool = True) -> Family:
        return measure_family(_tables(scores, fit_on, column), subject.names(), options, nearest=nearest)

    # What is only compared with may miss a precision.
    families = {EXTRACTED: family(ours, "paths", nearest=False), WHOLE: family(ours, "logits")}
    if subject.baseline is not None:
        theirs = {split: subject.twin_scores(split, sampling) for split in ours}
        check_same_images(subject.baseline, ours, theirs)
        families |= {BASELINE_WHOLE: family(theirs, "logits"), BASELINE_EXTRACTED: family(theirs, "paths")}
    return Detectors(
        fit_on=fit_on,
        precision=options.precision,
        recall=options.recall,
        negatives=options.negatives,
        seed=options.seed,
        images={"fit": len(ours[fit_on].labels), "test": len(ours["test"].labels)},
        strangers={_name(split): len(found.labels) for split, found in ours.items() if _is_strange(split)},
        unreadable=tuple(name for found in ours.values() for name in found.unreadable),
        families=families,
    )


def tables(record: Detectors) -> tuple[Table, ...]:
    """Means of each family, and every class's detector of each family: a row for each kind of negatives."""
    heads = ("precision", "recall", "F1", "AP")
    means = [
        (TITLES[name], negatives, *_cells(quality))
        for name, family in record.families.items()
        for negatives, quality in _against(family.in_distribution, family.out_of_distribution)
    ]
    classes = [
        (TITLES[name], one.label, one.threshold, negatives, *_cells(quality))
        for name, family in record.families.items()
        for one in family.detectors
        for negatives, quality in _against(one.in_distribution, one.out_of_distribution)
    ]
    return (
        Table(
            name="",
            title="Detectors, mean over classes",
            columns=("detectors", "against images of", *heads),
            rows=tuple(means),
        ),
        Table(
            name="classes",
            title="Detectors of every class",
            columns=("detectors", "class", "threshold", "against images of", *heads),
            rows=tuple(classes),
        ),
    )


def store(subject: Subject, record: Detectors) -> None:
    """Keep the thresholds of the extracted networks in the run, whatever thresholds it had."""
    detectors = record.families[EXTRACTED].detectors
    thresholds = Thresholds(
        weights=subject.digest,
        fit_on=record.fit_on,
        precision=record.precision,
        recall=record.recall,
        negatives=record.negatives,
        seed=record.seed,
        classes=tuple(one.label for one in detectors),
        thresholds=tuple(one.threshold for one in detectors),
    )
    write_thresholds(subject.folder, thresholds)


def keep(subject: Subject, record: Detectors) -> None:
    """Keep the thresholds, unless the run has some of its network's: a report does not undo what a user chose."""
    try:
        kept = read_thresholds(subject.folder)
    except CodednetError:  # of other weights, or unreadable
        kept = None
    if kept is None:
        store(subject, record)


def _splits(subject: Subject, fit_on: str) -> list[str]:
    return [fit_on, "test", *(f"against:{one.name}" for one in subject.against)]


def _tables(scores: Mapping[str, Scores], fit_on: str, column: Column) -> Tables:
    return Tables(
        fit=getattr(scores[fit_on], column),
        fit_labels=scores[fit_on].labels,
        test=getattr(scores["test"], column),
        test_labels=scores["test"].labels,
        strangers={_name(split): getattr(one, column) for split, one in scores.items() if _is_strange(split)},
    )


def _is_strange(split: str) -> bool:
    return split.startswith("against:")


def _name(split: str) -> str:
    return split.removeprefix("against:")


def _against(own: Quality, strangers: Mapping[str, Quality]) -> Iterator[tuple[str, Quality]]:
    yield IN_DISTRIBUTION, own
    yield from strangers.items()


def _cells(quality: Quality) -> tuple[Cell, ...]:
    return quality.precision, quality.recall, quality.f1, quality.average_precision


EXPERIMENT = Experiment(
    name="detectors",
    title="Detectors of all classes",
    version=1,
    record=Detectors,
    measure=measure,
    tables=tables,
    options=DetectorOptions,
    needs=frozenset({"coded"}),
    uses=frozenset({"baseline", "against"}),
    keep=keep,
)
