"""The joint decoder by depth, beside the early decoders that it is made of."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool
from torch import Tensor

from codednet.decoding.joint import JointFit
from codednet.experiments.experiment import Experiment, NoOptions, Table
from codednet.experiments.subject import Subject
from codednet.nn.decode import decode
from codednet.runs.collect import Collected

FITTED_ON, SPLIT = "tune-fit", "test"
LEVEL = 0.95
DRAWS = 10_000
SEED = 0


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Accuracy of one decoder less that of another on the same images, with the ends of a bootstrap interval."""

    mean: float
    low: float
    high: float

    @property
    def verdict(self) -> Literal["better", "worse", "undecided"]:
        """What the interval says of the first of the two."""
        return "better" if self.low > 0 else "worse" if self.high < 0 else "undecided"


@dataclass(frozen=True, kw_only=True)
class Depth:
    """What is known once this coded block, and those before it, are read."""

    block: str
    joint: float
    """Accuracy of the joint decoder."""
    single: float
    """Accuracy of this block's own early decoder."""
    best_single: float
    """Accuracy of the best early decoder so far, chosen on the images that are measured, which favours it."""
    best_block: str
    """The block of that decoder."""
    difference: Difference
    """Joint decoder less best early decoder."""


@dataclass(frozen=True, kw_only=True)
class JointRecord:
    """The joint decoder by depth."""

    fitted_on: str
    fit_images: int
    split: str
    images: int
    level: float
    """Confidence of the intervals."""
    draws: int
    """Bootstrap samples behind them."""
    depths: tuple[Depth, ...]
    accuracy: float
    """Of the whole network."""


def measure(subject: Subject, options: NoOptions) -> JointRecord:
    """The joint decoder fitted on tune-fit, measured on the test split."""
    fit, found = subject.collected(FITTED_ON), subject.collected(SPLIT)
    return JointRecord(
        fitted_on=FITTED_ON,
        fit_images=len(fit.labels),
        split=SPLIT,
        images=len(found.labels),
        level=LEVEL,
        draws=DRAWS,
        depths=compared_by_depth(subject, found),
        accuracy=float((found.logits.argmax(1) == found.labels).double().mean()),
    )


def compared_by_depth(subject: Subject, found: Collected) -> tuple[Depth, ...]:
    """The joint decoder beside the best early decoder so far, at every depth, on images that nothing was fitted on."""
    model = subject.model
    joint = joint_fit(subject).decoder().log_posteriors(found.energies).argmax(2) == found.labels
    single = decode(found.energies, model.codes) == found.labels
    accuracies = single.double().mean(1).tolist()
    depths = []
    for depth, name in enumerate(model.coded_blocks):
        best = max(range(depth + 1), key=accuracies.__getitem__)
        depths.append(
            Depth(
                block=name,
                joint=float(joint[depth].double().mean()),
                single=accuracies[depth],
                best_single=accuracies[best],
                best_block=model.coded_blocks[best],
                difference=paired_bootstrap(joint[depth], single[best]),
            )
        )
    return tuple(depths)


def joint_fit(subject: Subject) -> JointFit:
    """Joint decoders of any blocks, fitted on tune-fit; experiments share it."""

    def fit() -> JointFit:
        found = subject.collected(FITTED_ON)
        return JointFit(found.energies, subject.model.codes, found.labels, found.logits)

    return subject.once("joint fit", fit)


def paired_bootstrap(
    first: Bool[Tensor, " images"],
    second: Bool[Tensor, " images"],
    *,
    level: float = LEVEL,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Difference:
    """Share of images that the first is right on, less the second's; images are drawn anew, both answers with them."""
    images = len(first)
    gains = int((first & ~second).sum())
    losses = int((second & ~first).sum())
    # Of an image drawn anew only its kind matters, so the kinds are drawn: gain, loss, or neither.
    kinds = np.array([gains, losses, images - gains - losses]) / images
    drawn = np.random.default_rng(seed).multinomial(images, kinds, size=draws)
    differences = (drawn[:, 0] - drawn[:, 1]) / images
    low, high = np.quantile(differences, [(1 - level) / 2, (1 + level) / 2])
    return Difference(mean=(gains - losses) / images, low=float(low), high=float(high))


def tables(record: JointRecord) -> tuple[Table, ...]:
    """A row a depth."""
    table = Table(
        name="",
        title=f"Joint decoder by depth, on {record.images:,} images of {record.split}",
        columns=("after block", "joint", "this block alone", "best alone so far", "difference", "low", "high"),
        rows=tuple(
            (
                one.block,
                one.joint,
                one.single,
                one.best_single,
                one.difference.mean,
                one.difference.low,
                one.difference.high,
            )
            for one in record.depths
        ),
    )
    return (table,)


EXPERIMENT = Experiment(
    name="joint",
    title="Joint decoder",
    version=2,
    record=JointRecord,
    measure=measure,
    tables=tables,
    needs=frozenset({"coded", "tune"}),
)
