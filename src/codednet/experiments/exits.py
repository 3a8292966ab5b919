"""Exits: a rule with a promise, and what it saves: accuracy against multiply-adds and milliseconds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from codednet.data import Data
from codednet.decoding.exits import (
    ExitPoint,
    Posteriors,
    choose_rule,
    exit_costs,
    exit_curve,
    network_multiply_adds,
)
from codednet.decoding.risk import THRESHOLDS, RiskChoice, needed_images
from codednet.decoding.store import keep, read_fitted
from codednet.errors import CodednetError
from codednet.experiments.experiment import Experiment, Table
from codednet.experiments.subject import Subject
from codednet.experiments.timing import ExitTime, time_exits

FITTED_ON, CHOSEN_ON, SPLIT = "tune-fit", "tune-risk", "test"
CURVE = (None, *THRESHOLDS, 0.4, 0.3, 0.2, 0.1, 0.0)
"""Thresholds of the curve: from never to exit to leaving at the first look."""
LEAST_ROUNDS = 4
THROUGH = "whole network"


@dataclass(frozen=True, kw_only=True)
class ExitsOptions:
    """What is promised of a rule, and how long it is timed."""

    risk: float = 0.01
    """Largest share of images that may be right in full and wrong at their exit."""
    delta: float = 0.05
    """Largest probability that this share is exceeded."""
    rounds: int = 15
    """Rounds of the times; 0 takes none."""

    def __post_init__(self) -> None:
        needed_images(self.risk, self.delta)  # refuses what are no probabilities, before anything is fitted
        if 0 < self.rounds < LEAST_ROUNDS or self.rounds < 0:
            raise CodednetError(f"rounds must be 0, for no times, or {LEAST_ROUNDS} and more; got {self.rounds}.")


@dataclass(frozen=True, kw_only=True)
class Look:
    """A coded block that is read, under the chosen threshold."""

    block: str
    cost: float
    """Multiply-adds of an image that leaves here, as a share of the whole network's."""
    images: int
    """That leave here."""
    share: float
    """Of the images that leave here."""
    accuracy: float | None
    """Of what is said of these; None where no image leaves."""
    full_accuracy: float | None
    """Of what the whole network would have said of these."""


@dataclass(frozen=True, kw_only=True)
class ExitsRecord:
    """An exit rule and its price on the test split."""

    fitted_on: str
    """Split that the joint decoder and the choice of blocks come from."""
    fit_images: int
    chosen_on: str
    """Split that the threshold alone comes from; `choice` has its number of images."""
    split: str
    images: int
    choice: RiskChoice
    """The threshold and its promise, or why the rule is never to exit."""
    accuracy: float
    """Of the whole network."""
    multiply_adds: float
    """Of the whole network without any look, on one image."""
    looks: tuple[Look, ...]
    """Where images leave."""
    through: Look
    """Images that go through the whole network; what looking at them cost is counted."""
    chosen: ExitPoint
    """The rule as it is kept."""
    curve: tuple[ExitPoint, ...]
    """Every threshold, from never to exit to leaving at the first look."""
    times: tuple[ExitTime, ...]
    """None where the rule is never to exit."""
    rule: Mapping[str, Any]
    """What is kept in the run for predictions."""
    left_out: tuple[str, ...]
    """Images of the three splits that could not be read."""


def measure(subject: Subject, options: ExitsOptions) -> ExitsRecord:
    """The rule fitted on tune-fit, its threshold chosen on tune-risk, its price measured on the test split."""
    model = subject.model.to(subject.device)
    fit, risk, found = (subject.collected(split) for split in (FITTED_ON, CHOSEN_ON, SPLIT))
    size = image_size(subject.data)
    rule = choose_rule(model, fit, risk, options.risk, options.delta, size)
    posteriors = Posteriors.of(rule.decoder.log_posteriors(found.energies), found)
    costs = exit_costs(model, rule.decoder, size)
    full = network_multiply_adds(model, torch.zeros(1, *size, device=subject.device))
    (chosen,) = exit_curve(posteriors, costs, full, (rule.choice.threshold,))
    *looks, through = _looks((*rule.looks, THROUGH), posteriors, rule.threshold, [cost / full for cost in costs])
    return ExitsRecord(
        fitted_on=FITTED_ON,
        fit_images=len(fit.labels),
        chosen_on=CHOSEN_ON,
        split=SPLIT,
        images=len(found.labels),
        choice=rule.choice,
        accuracy=float((posteriors.full == posteriors.labels).double().mean()),
        multiply_adds=full,
        looks=tuple(looks),
        through=through,
        chosen=chosen,
        curve=exit_curve(posteriors, costs, full, CURVE),
        times=time_exits(subject, rule, found.indices, posteriors.exits(rule.threshold), options.rounds),
        rule=rule.document(),
        left_out=tuple(name for one in (fit, risk, found) for name in one.unreadable),
    )


def image_size(data: Data) -> tuple[int, int, int]:
    """Channels, height and width of an image as an evaluation sees it."""
    cfg = data.preprocessing()
    channels, height, width = cfg.get("test_input_size") or cfg["input_size"]
    return channels, height, width


def keep_rule(subject: Subject, record: ExitsRecord) -> None:
    """Keep the rule in the run, where predictions find it."""
    # A run whose training goes on has other weights by now, which nothing was fitted for.
    if subject.folder.weights_digest() == subject.digest:
        keep(subject.folder, "exits", dict(record.rule))


def _keep(subject: Subject, record: ExitsRecord) -> None:
    """Keep the rule, unless one that promises something else was chosen for the same weights."""
    kept = read_fitted(subject.folder).exits
    asked = record.choice.epsilon, record.choice.delta
    if kept is None or (kept.choice.epsilon, kept.choice.delta) == asked:
        keep_rule(subject, record)


def _looks(names: Sequence[str], posteriors: Posteriors, threshold: float, costs: Sequence[float]) -> Iterator[Look]:
    """What leaves at each look, and last what goes through."""
    exits = posteriors.exits(threshold)
    right = posteriors.answers(threshold) == posteriors.labels
    full_right = posteriors.full == posteriors.labels
    for place, (name, cost) in enumerate(zip(names, costs, strict=True)):
        here = exits == place
        images = int(here.sum())
        yield Look(
            block=name,
            cost=cost,
            images=images,
            share=images / len(here),
            accuracy=float(right[here].double().mean()) if images else None,
            full_accuracy=float(full_right[here].double().mean()) if images else None,
        )


def tables(record: ExitsRecord) -> tuple[Table, ...]:
    """The curve, where images leave, and the times."""
    curve = Table(
        name="",
        title=f"Accuracy against cost by threshold, on {record.images:,} images of {record.split}",
        columns=("threshold", "accuracy", "risk", "multiply-adds", "share of multiply-adds", *_shares(record)),
        rows=tuple(
            (point.threshold, point.accuracy, point.risk, point.multiply_adds, point.cost, *point.shares)
            for point in record.curve
        ),
    )
    looks = Table(
        name="looks",
        title="Where images leave under the rule that is kept",
        columns=("after block", "images", "share of images", "share of multiply-adds", "accuracy", "accuracy in full"),
        rows=tuple(
            (one.block, one.images, one.share, one.cost, one.accuracy, one.full_accuracy)
            for one in (*record.looks, record.through)
        ),
    )
    times = Table(
        name="times",
        title="Milliseconds an image",
        columns=("batch", "images", "whole network", "with exits", "times as fast", "spread", "steady"),
        rows=tuple(
            (t.batch, t.images, t.whole_milliseconds, t.exits_milliseconds, t.speedup, t.spread, t.steady)
            for t in record.times
        ),
    )
    return (curve, looks, times) if record.times else (curve, looks)


def _shares(record: ExitsRecord) -> tuple[str, ...]:
    return (*(f"share leaving after {look.block}" for look in record.looks), "share going through")


EXPERIMENT = Experiment(
    name="exits",
    title="Exits",
    version=2,
    record=ExitsRecord,
    measure=measure,
    tables=tables,
    options=ExitsOptions,
    needs=frozenset({"coded", "tune"}),
    timed=True,
    keep=_keep,
)
