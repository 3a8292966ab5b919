"""Guided inference: accuracy against cost when only likely classes' branches run, beside exits by the same reading."""

from dataclasses import dataclass

import torch

from codednet.decoding.exits import ExitPoint, Posteriors, exit_costs, exit_curve, network_multiply_adds
from codednet.decoding.guided import GuidedPoint, GuidedStage, guided_curve
from codednet.experiments.exits import CURVE, image_size
from codednet.experiments.experiment import Experiment, NoOptions, Table
from codednet.experiments.joint import FITTED_ON, joint_fit
from codednet.experiments.subject import Subject

SPLIT = "test"
MASSES = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0)


@dataclass(frozen=True, kw_only=True)
class GuidedRecord:
    """Two ways to save by the same early posterior: to run fewer branches of the last stage, or to stop."""

    fitted_on: str
    fit_images: int
    split: str
    images: int
    read: tuple[str, ...]
    """Coded blocks that the early posterior is read from: those before the last coded stage."""
    stage: tuple[str, ...]
    """Blocks of the last coded stage, where branches are left out."""
    accuracy: float
    """Of the whole network."""
    multiply_adds: float
    """Of the whole network, on one image."""
    guided: tuple[GuidedPoint, ...]
    """By the mass that an image's candidates hold together."""
    exits: tuple[ExitPoint, ...]
    """Exits at the same blocks by the same posterior, by threshold."""


def measure(subject: Subject, options: NoOptions) -> GuidedRecord:
    """The early posterior fitted on tune-fit; both ways on the test split."""
    model = subject.model.to(subject.device)
    stage = GuidedStage(model)
    fit, found = subject.collected(FITTED_ON), subject.collected(SPLIT)
    decoder = joint_fit(subject).decoder(range(stage.first))
    posteriors = Posteriors.of(decoder.log_posteriors(found.energies), found)
    guided = guided_curve(model, decoder, subject.loader(SPLIT), MASSES, subject.device)
    size = image_size(subject.data)
    full = network_multiply_adds(model, torch.zeros(1, *size, device=subject.device))
    return GuidedRecord(
        fitted_on=FITTED_ON,
        fit_images=len(fit.labels),
        split=SPLIT,
        images=len(found.labels),
        read=tuple(model.coded_blocks[: stage.first]),
        stage=tuple(stage.blocks),
        accuracy=float((posteriors.full == posteriors.labels).double().mean()),
        multiply_adds=full,
        guided=guided,
        exits=exit_curve(posteriors, exit_costs(model, decoder, size), full, CURVE),
    )


def tables(record: GuidedRecord) -> tuple[Table, ...]:
    """A row a mass, and a row a threshold."""
    on = f"on {record.images:,} images of {record.split}"
    guided = Table(
        name="",
        title=f"Guided inference: accuracy against cost by mass of the candidates, {on}",
        columns=(
            "mass",
            "accuracy",
            "candidates",
            "share of branches",
            "multiply-adds",
            "share of multiply-adds",
        ),
        rows=tuple(
            (one.mass, one.accuracy, one.candidates, one.branches, one.multiply_adds, one.cost) for one in record.guided
        ),
    )
    exits = Table(
        name="exits",
        title=f"Exits by the same posterior: accuracy against cost by threshold, {on}",
        columns=("threshold", "accuracy", "multiply-adds", "share of multiply-adds"),
        rows=tuple((one.threshold, one.accuracy, one.multiply_adds, one.cost) for one in record.exits),
    )
    return guided, exits


EXPERIMENT = Experiment(
    name="guided",
    title="Guided inference",
    version=2,
    record=GuidedRecord,
    measure=measure,
    tables=tables,
    needs=frozenset({"coded", "tune"}),
)
