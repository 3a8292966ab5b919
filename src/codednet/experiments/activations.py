"""How far the outputs of branches reach from zero, where they are to be active and where not (appendix)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from codednet.codes import Code
from codednet.errors import CodednetError
from codednet.experiments.experiment import Experiment, Table
from codednet.experiments.sample import Sample, sampled
from codednet.experiments.subject import Subject
from codednet.models import CodedResNeXt
from codednet.runs.collect import evaluating

CHUNK = 1 << 22
"""Outputs that are held at a time; counts below 2**24 are exact in float32."""


@dataclass(frozen=True, kw_only=True)
class ActivationOptions:
    """Which branches, on how many images, and how fine the histograms are."""

    images: int = 200
    """Most test images, drawn class by class where there are more; 0 takes all."""
    branches: int = 5
    """Branches, from the first on."""
    bins: int = 60
    seed: int = 0
    """Seed of the draw of images."""

    def __post_init__(self) -> None:
        if self.branches < 1 or self.bins < 1:
            raise CodednetError(
                f"there must be at least one branch and one bin; got branches={self.branches}, bins={self.bins}."
            )


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Absolute values of one branch's output over some images, all channels and positions."""

    images: int
    mean: float | None
    """None without images."""
    largest: float | None
    counts: tuple[int, ...]
    """By bin."""


@dataclass(frozen=True, kw_only=True)
class BranchActivations:
    """One branch, on images whose class it is to be active for, and on the others."""

    branch: int
    active: Reach
    inactive: Reach


@dataclass(frozen=True, kw_only=True)
class Activations:
    """Histograms of |W_n u_n|, before energies are normalised, of some branches of one block, on the same bins."""

    block: str
    num_branches: int
    """Branches of the block, of which the first are shown."""
    sample: Sample
    unreadable: tuple[str, ...]
    """Images that were left out."""
    edges: tuple[float, ...]
    """Of the bins, rising from 0: one more than there are bins."""
    branches: tuple[BranchActivations, ...]


def measure(subject: Subject, options: ActivationOptions) -> Activations:
    """Histograms for the second block of the last coded stage, or for its only one."""
    model, name = subject.model, shown_block(subject.model.coded_blocks)
    code = model.codes[model.coded_blocks.index(name)]
    count = min(options.branches, code.num_branches)
    loader, sample = sampled(subject, options.images, options.seed)
    with evaluating(model, subject.device):
        parts = [(_hidden(model, name, count, batch.images.to(subject.device)), batch.labels) for batch in loader]
        hidden, labels = (torch.cat(column) for column in zip(*parts, strict=True))
        weights = _weights(model, name, count)
        top = max(float(values.max()) for n in range(count) for values in outputs(hidden[:, n], weights[n]))
        edges = np.linspace(0, top or 1.0, options.bins + 1)
        shown = tuple(_branch(n, hidden[:, n], weights[n], labels, code, edges) for n in range(count))
    return Activations(
        block=name,
        num_branches=code.num_branches,
        sample=sample,
        unreadable=tuple(sorted(loader.unreadable)),
        edges=tuple(edges.tolist()),
        branches=shown,
    )


def shown_block(coded: Sequence[str]) -> str:
    """The second block of the last stage of these, as the paper shows, or the only one.

    >>> shown_block(["layer2.0", "layer3.0", "layer3.1", "layer3.2"])
    'layer3.1'
    """
    stage = [name for name in coded if name.split(".")[0] == coded[-1].split(".")[0]]
    return stage[min(1, len(stage) - 1)]


def outputs(
    hidden: Float[Tensor, "images width height across"], weight: Float[Tensor, "out width"]
) -> Iterator[Float[Tensor, " values"]]:
    """Absolute values of a branch's outputs, a chunk at a time."""
    each = weight.shape[0] * hidden.shape[2] * hidden.shape[3]
    for part in torch.split(hidden, max(1, CHUNK // each)):
        yield F.conv2d(part, weight[:, :, None, None]).abs().flatten()


def _hidden(
    model: CodedResNeXt, block: str, count: int, images: Tensor
) -> Float[Tensor, "images count width height across"]:
    """What the first branches of a block hold before its last convolution; the block itself is not finished."""
    step = next(step for step in model.walk(images) if step.name == block)
    width = step.block.config.width
    u = step.hidden
    return u[:, : count * width].reshape(len(u), count, width, *u.shape[2:]).float()


def _weights(model: CodedResNeXt, block: str, count: int) -> Float[Tensor, "count out width"]:
    found = next(one for name, one in model.named_blocks() if name == block)
    width, weight = found.config.width, found.conv3.weight
    return weight[:, : count * width].reshape(len(weight), count, width).movedim(1, 0).float()


def _branch(
    n: int, hidden: Tensor, weight: Tensor, labels: Int[Tensor, " images"], code: Code, edges: np.ndarray
) -> BranchActivations:
    is_active = torch.tensor(code.words[:, n]).bool()[labels].to(hidden.device)
    return BranchActivations(
        branch=n,
        active=_reach(hidden[is_active], weight, edges),
        inactive=_reach(hidden[~is_active], weight, edges),
    )


def _reach(hidden: Tensor, weight: Tensor, edges: np.ndarray) -> Reach:
    bins = len(edges) - 1
    counts, total, values, largest = torch.zeros(bins, dtype=torch.int64), 0.0, 0, 0.0
    for part in outputs(hidden, weight) if len(hidden) else ():
        counts += torch.histc(part, bins, 0, float(edges[-1])).cpu().long()
        total += float(part.sum(dtype=torch.float64))
        values += part.numel()
        largest = max(largest, float(part.max()))
    return Reach(
        images=len(hidden),
        mean=total / values if values else None,
        largest=largest if values else None,
        counts=tuple(counts.tolist()),
    )


def tables(record: Activations) -> tuple[Table, ...]:
    """A row a branch and kind of images; and the counts by bin."""
    reaches = [
        (one.branch, kind, reach)
        for one in record.branches
        for kind, reach in (("active", one.active), ("inactive", one.inactive))
    ]
    return (
        Table(
            name="",
            title=f"Absolute outputs of branches of {record.block}",
            columns=("branch", "images it is", "images", "mean", "largest"),
            rows=tuple((branch, kind, one.images, one.mean, one.largest) for branch, kind, one in reaches),
        ),
        Table(
            name="counts",
            title=f"Absolute outputs of branches of {record.block}, by bin",
            columns=("branch", "images it is", "from", "to", "count"),
            rows=tuple(
                (branch, kind, record.edges[place], record.edges[place + 1], count)
                for branch, kind, one in reaches
                for place, count in enumerate(one.counts)
            ),
        ),
    )


EXPERIMENT = Experiment(
    name="activations",
    title="Outputs of active and inactive branches",
    version=1,
    record=Activations,
    measure=measure,
    tables=tables,
    options=ActivationOptions,
    needs=frozenset({"coded"}),
)
