"""Transparency certificate: whether a run's paths do what its words say, against bars, and against words shuffled.

A plain run is measured too, along the words that its coded variant would have, so that "transparent" can be false.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from codednet.experiments import find
from codednet.experiments.controls import along_words, shuffled
from codednet.experiments.experiment import Experiment, NoOptions, Table
from codednet.experiments.measures import PathMeasures, curves_of, family_of, path_measures
from codednet.experiments.removal import RemovalOptions
from codednet.experiments.results import result
from codednet.experiments.subject import Subject
from codednet.models import CodedResNeXt
from codednet.paths.detectors import NEGATIVES_A_POSITIVE
from codednet.paths.families import DetectorOptions, Family
from codednet.paths.removal import RemovalCurve
from codednet.runs.collect import Collected, collect

SPLIT = "test"
ENERGY_RATIO = 2
"""How many times the energy of a branch off the path one on the path must carry."""
ERRORS = 2
"""How many standard errors accuracies must differ by."""

CheckName: TypeAlias = Literal["energy", "removal", "detectors"]


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that must hold of a transparent network."""

    name: CheckName
    what: str
    """What is measured."""
    value: float
    bar: float
    """Least value that passes."""
    reason: str
    """Why the bar is there."""
    shuffled: float | None
    """The same along shuffled words, which must stay below the bar; None of one class."""
    plain_twin: float | None
    """The same of the plain twin along the run's words; None without a baseline of the run's shape."""
    passed: bool


@dataclass(frozen=True, kw_only=True)
class CertificateRecord:
    """Whether information of a class flows through the class's path."""

    passed: bool
    """Whether every check did."""
    coded: bool
    """Whether the run's network has words of its own; a plain one is measured along those of its coded variant."""
    images: int
    """Of the test split, on which energies and detectors are measured."""
    removal_images: int
    """Of them, on which removal is."""
    checks: tuple[Check, ...]
    measures: tuple[PathMeasures, ...]
    """Along the run's own words, shuffled ones, and of the plain twin; shuffled: each class has another's word."""


def measure(subject: Subject, options: NoOptions) -> CertificateRecord:
    """The three checks on the test split, and their controls."""
    coded = bool(subject.model.codes)
    network = subject.model if coded else along_words(subject.model)
    collected = subject.collected(SPLIT) if coded else collect(network, subject.loader(SPLIT), subject.device)
    curves = result(find("removal"), subject).record.curves if coded else _curves(network, subject)
    family = result(find("detectors"), subject).record.families["extracted"] if coded else _family(network, subject)
    measures = [path_measures("own", network.codes, collected, curves, family)]
    if network.num_classes > 1:
        control = shuffled(network)
        parts = _curves(control, subject), _family(control, subject)
        measures.append(path_measures("shuffled", control.codes, collected, *parts))
    if coded and subject.baseline is not None and _same_shape(subject):
        measures.append(_plain_twin(subject))
    checks = (
        _check_energy(measures),
        _check_removal(measures, curves[0]),
        _check_detectors(measures, collected, network.num_classes),
    )
    return CertificateRecord(
        passed=all(check.passed for check in checks),
        coded=coded,
        images=len(collected.labels),
        removal_images=curves[0].images,
        checks=checks,
        measures=tuple(measures),
    )


def _curves(network: CodedResNeXt, subject: Subject) -> tuple[RemovalCurve, ...]:
    return curves_of(network, subject.data, RemovalOptions(), subject.batch, subject.device)


def _family(network: CodedResNeXt, subject: Subject) -> Family:
    return family_of(network, subject, DetectorOptions())


def _plain_twin(subject: Subject) -> PathMeasures:
    network = along_words(subject.twin, subject.model.config)
    return path_measures(
        "plain twin",
        network.codes,
        collect(network, subject.twin_loader(SPLIT), subject.device),
        curves_of(network, subject.twin_data, RemovalOptions(), subject.batch, subject.device),
        result(find("detectors"), subject).record.families["baseline_extracted"],
    )


def _same_shape(subject: Subject) -> bool:
    ours, theirs = subject.model.config.plain(), subject.twin.config
    return (ours.stages, ours.shortcut, ours.in_chans) == (theirs.stages, theirs.shortcut, theirs.in_chans)


def _check_energy(measures: Sequence[PathMeasures]) -> Check:
    rates = [one.active / one.branches for one in measures[0].blocks]
    bars = [ENERGY_RATIO * rate / (ENERGY_RATIO * rate + 1 - rate) for rate in rates]
    return _check(
        "energy",
        "share of the energy that lies on the path of the image's class, mean over blocks",
        {one.words: one.energy for one in measures},
        sum(bars) / len(bars),
        f"A branch on the path then carries {ENERGY_RATIO} times the energy of one off it; where branches know of no "
        f"class, the share is that of the branches, {sum(rates) / len(rates):.1%}.",
    )


def _check_removal(measures: Sequence[PathMeasures], curve: RemovalCurve) -> Check:
    # One right and one wrong answer more, so that accuracies of 0 and 1 have an error too.
    accuracy = (curve.active[0] * curve.images + 1) / (curve.images + 2)
    return _check(
        "removal",
        "accuracy lost without branches of the path less that lost without as many others, mean over blocks",
        {one.words: one.gap for one in measures},
        ERRORS * sqrt(2 * accuracy * (1 - accuracy) / curve.images),
        f"{ERRORS} standard errors of the difference of two such accuracies on {curve.images:,} images each: what "
        "chance hardly reaches. How much is lost says less, since shortcuts lead around a block.",
    )


def _check_detectors(measures: Sequence[PathMeasures], collected: Collected, classes: int) -> Check:
    always = always_yes(np.bincount(collected.labels.numpy(), minlength=classes))
    return _check(
        "detectors",
        "F1 of the networks of one class alone as detectors, mean over classes",
        {one.words: one.f1 for one in measures},
        (1 + always) / 2,
        f"Halfway from a detector that always says yes, {always:.1%}, to one that is always right.",
    )


def always_yes(images: NDArray[np.int64]) -> float:
    """F1 of detectors that say yes to everything, mean over classes of so many images each."""
    rest = images.sum() - images
    negatives = rest if len(images) <= NEGATIVES_A_POSITIVE + 1 else np.minimum(rest, NEGATIVES_A_POSITIVE * images)
    return float((2 * images / (2 * images + negatives)).mean())


def _check(name: CheckName, what: str, values: dict[str, float], bar: float, reason: str) -> Check:
    control = values.get("shuffled")
    return Check(
        name=name,
        what=what,
        value=values["own"],
        bar=bar,
        reason=reason,
        shuffled=control,
        plain_twin=values.get("plain twin"),
        passed=values["own"] >= bar and (control is None or control < bar),
    )


def tables(record: CertificateRecord) -> tuple[Table, ...]:
    """A row a check; and a row for each block and kind of words."""
    checks = Table(
        name="",
        title=f"Transparency certificate: {'passed' if record.passed else 'failed'}",
        columns=("check", "what", "this run", "bar", "shuffled words", "plain twin", "passed"),
        rows=tuple(
            (one.name, one.what, one.value, one.bar, one.shuffled, one.plain_twin, "yes" if one.passed else "no")
            for one in record.checks
        ),
    )
    blocks = Table(
        name="blocks",
        title="Block by block",
        columns=(
            "words",
            "block",
            "active",
            "branches",
            "share of energy on path",
            "removed",
            "accuracy lost, active",
            "accuracy lost, inactive",
        ),
        rows=tuple(
            (one.words, b.block, b.active, b.branches, b.energy, b.removed, b.lost_active, b.lost_inactive)
            for one in record.measures
            for b in one.blocks
        ),
    )
    return checks, blocks


EXPERIMENT = Experiment(
    name="certificate",
    title="Transparency certificate",
    version=2,
    record=CertificateRecord,
    measure=measure,
    tables=tables,
    uses=frozenset({"baseline"}),
    builds_on=("removal", "detectors"),
)
