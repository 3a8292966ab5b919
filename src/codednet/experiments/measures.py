"""What a network's branches do for the classes whose words name them: energies, what their removal costs, detectors."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from codednet.codes import Code
from codednet.data import Data
from codednet.experiments.removal import RemovalOptions
from codednet.experiments.sample import stratified
from codednet.experiments.subject import Subject
from codednet.models import CodedResNeXt
from codednet.paths.families import DetectorOptions, Family, Sampling, Tables, fit_split, measure_family
from codednet.paths.removal import RemovalCurve, removal_curves
from codednet.runs.collect import Collected, evaluating

Words: TypeAlias = Literal["own", "shuffled", "plain twin"]
"""The run's network along its own words; the same along words that others have; the plain twin along the run's."""


@dataclass(frozen=True, kw_only=True)
class BlockMeasures:
    """One coded block."""

    block: str
    active: int
    branches: int
    energy: float
    """Share of the energy that lies on the path of the image's class, averaged over images."""
    removed: int
    """Branches removed, of either kind: as many as there are of the rarer one."""
    lost_active: float
    """Accuracy lost without so many branches of the class's path."""
    lost_inactive: float
    """Accuracy lost without so many of the others; below 0 where it rises."""


@dataclass(frozen=True, kw_only=True)
class PathMeasures:
    """All coded blocks, and the detectors cut out along the words."""

    words: Words
    blocks: tuple[BlockMeasures, ...]
    energy: float
    """Mean over the blocks."""
    gap: float
    """Accuracy lost without active branches less that lost without inactive ones, mean over the blocks."""
    f1: float
    """Of the networks cut out as detectors, mean over the classes."""


def path_measures(
    words: Words, codes: Sequence[Code], collected: Collected, curves: Sequence[RemovalCurve], family: Family
) -> PathMeasures:
    """The measures of a network, from what was seen of it."""
    blocks = [
        _block(curve, code, energies, collected.labels)
        for curve, code, energies in zip(curves, codes, collected.energies, strict=True)
    ]
    return PathMeasures(
        words=words,
        blocks=tuple(blocks),
        energy=sum(one.energy for one in blocks) / len(blocks),
        gap=sum(one.lost_active - one.lost_inactive for one in blocks) / len(blocks),
        f1=family.in_distribution.f1,
    )


def own_share(
    energies: Float[Tensor, "images branches"], labels: Int[Tensor, " images"], code: Code
) -> Float[Tensor, " images"]:
    """Share of each image's energy that lies on the branches of its class's word; 0 of an image without energy."""
    active = torch.tensor(code.words, dtype=torch.float64)[labels]
    table = energies.double()
    return (table * active).sum(1) / table.sum(1).clamp_min(torch.finfo(torch.float64).tiny)


def _block(curve: RemovalCurve, code: Code, energies: Tensor, labels: Tensor) -> BlockMeasures:
    removed = min(code.active, code.num_branches - code.active)
    return BlockMeasures(
        block=curve.block,
        active=code.active,
        branches=code.num_branches,
        energy=float(own_share(energies, labels, code).mean()),
        removed=removed,
        lost_active=curve.active[0] - curve.active[removed],
        lost_inactive=curve.inactive[0] - curve.inactive[removed],
    )


def curves_of(
    model: CodedResNeXt, data: Data, options: RemovalOptions, batch: int, device: torch.device
) -> tuple[RemovalCurve, ...]:
    """Removal curves, on the test images that the removal experiment takes."""
    indices = data.indices("test")
    taken = indices[stratified(data.labels("test"), options.images or len(indices), options.seed)]
    loader = replace(data, splits={"test": taken}).eval_loader("test", batch)
    with evaluating(model, device):
        return removal_curves(model, ((one.images, one.labels) for one in loader), seed=options.seed)


def family_of(network: CodedResNeXt, subject: Subject, options: DetectorOptions) -> Family:
    """Detectors cut out of a network along its own words, as the detectors experiment makes the run's."""
    data, fit_on = subject.data, fit_split(subject.data, options.fit_on)
    sampling = Sampling(negatives=options.negatives, seed=options.seed, whole=0)
    fit, test = (subject.scores_of(network, split, sampling) for split in (fit_on, "test"))
    tables = Tables(fit=fit.paths, fit_labels=fit.labels, test=test.paths, test_labels=test.labels, strangers={})
    return measure_family(tables, data.classes, options, nearest=True)
