"""How much of their paths classes share: branches, and the parameters of those branches, class by class."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codednet.experiments.experiment import Experiment, NoOptions, Table
from codednet.experiments.subject import Subject
from codednet.models import CodedResNeXt

SHOWN = 100
"""Classes whose overlaps a record lists; mean and extremes are of all."""


@dataclass(frozen=True, kw_only=True)
class BlockOverlap:
    """One coded block."""

    block: str
    active: int
    branches: int
    mean: float
    """Share of its branches that a class shares with another, averaged over pairs of classes."""
    smallest: float
    largest: float


@dataclass(frozen=True, kw_only=True)
class ClassPair:
    """Two classes and what their paths share."""

    first: str
    second: str
    branches: int
    share: float
    """Of the parameters of the branches on a path."""


@dataclass(frozen=True, kw_only=True)
class OverlapRecord:
    """Overlap of the paths of all classes, in the coded blocks; everything else is common to all."""

    classes: int
    shown: tuple[str, ...]
    """Classes of the rows and columns of the two tables: the first ones where there are many."""
    path_branches: int
    """Branches on the path of a class, over all coded blocks."""
    path_parameters: int
    """Parameters of these branches."""
    common_parameters: int
    """Parameters that belong to no branch of a coded block, so to every path; those of the classifier among them."""
    branches: tuple[tuple[int, ...], ...]
    """Branches that the paths of two classes share; on the diagonal, those of one."""
    parameters: tuple[tuple[float, ...], ...]
    """The shared branches' share of the parameters of a path's branches."""
    mean_share: float | None
    """Of parameters, averaged over pairs of classes; None of one class."""
    blocks: tuple[BlockOverlap, ...]
    most: ClassPair | None
    least: ClassPair | None


def measure(subject: Subject, options: NoOptions) -> OverlapRecord:
    """What the words and the shapes of the run's network say; no image is needed."""
    model, names = subject.model, subject.names()
    sizes = branch_parameters(model)
    shared = {name: shared_branches(code.words) for name, code in zip(model.coded_blocks, model.codes, strict=True)}
    branches = np.sum(list(shared.values()), axis=0)
    parameters = np.sum([shared[name] * sizes[name] for name in shared], axis=0)
    path = int(parameters[0, 0])
    shares = parameters / path
    pairs = np.triu_indices(len(names), 1)
    whole = sum(parameter.numel() for parameter in model.parameters())
    held = sum(sizes[name] * code.num_branches for name, code in zip(model.coded_blocks, model.codes, strict=True))
    many = len(pairs[0])
    return OverlapRecord(
        classes=len(names),
        shown=names[:SHOWN],
        path_branches=int(branches[0, 0]),
        path_parameters=path,
        common_parameters=whole - held,
        branches=tuple(map(tuple, branches[:SHOWN, :SHOWN].tolist())),
        parameters=tuple(map(tuple, shares[:SHOWN, :SHOWN].tolist())),
        mean_share=float(shares[pairs].mean()) if many else None,
        blocks=tuple(_block(name, model, shared[name]) for name in shared) if many else (),
        most=_pair(names, branches, shares, int(shares[pairs].argmax())) if many else None,
        least=_pair(names, branches, shares, int(shares[pairs].argmin())) if many else None,
    )


def branch_parameters(model: CodedResNeXt) -> dict[str, int]:
    """Parameters that one branch of each coded block holds: all but its shortcut and last batch norm, shared evenly."""
    sizes = {}
    for name, block in model.named_blocks():
        if block.is_coded:
            own = ("conv1", "bn1", "conv2", "bn2", "conv3")
            total = sum(p.numel() for key, p in block.named_parameters() if key.split(".")[0] in own)
            sizes[name] = total // len(block.config.branches)
    return sizes


def shared_branches(words: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Branches that the words of two classes have in common."""
    table = words.astype(np.float32)
    return (table @ table.T).astype(np.int64)


def _block(name: str, model: CodedResNeXt, shared: NDArray[np.int64]) -> BlockOverlap:
    code = model.codes[model.coded_blocks.index(name)]
    shares = shared[np.triu_indices(len(shared), 1)] / code.active
    return BlockOverlap(
        block=name,
        active=code.active,
        branches=code.num_branches,
        mean=float(shares.mean()),
        smallest=float(shares.min()),
        largest=float(shares.max()),
    )


def _pair(names: tuple[str, ...], branches: NDArray[np.int64], shares: NDArray[np.float64], place: int) -> ClassPair:
    first, second = (int(ends[place]) for ends in np.triu_indices(len(names), 1))
    return ClassPair(
        first=names[first],
        second=names[second],
        branches=int(branches[first, second]),
        share=float(shares[first, second]),
    )


def tables(record: OverlapRecord) -> tuple[Table, ...]:
    """A row a block; and the shares class by class."""
    blocks = Table(
        name="",
        title="Share of a path's branches that another class uses too, over pairs of classes",
        columns=("block", "active", "branches", "mean", "smallest", "largest"),
        rows=tuple((one.block, one.active, one.branches, one.mean, one.smallest, one.largest) for one in record.blocks),
    )
    few = "" if len(record.shown) == record.classes else f", the first {len(record.shown)} of {record.classes} classes"
    shares = Table(
        name="classes",
        title=f"Share of the parameters of a path's branches that two classes have in common{few}",
        columns=("class", *record.shown),
        rows=tuple((name, *row) for name, row in zip(record.shown, record.parameters, strict=True)),
    )
    return blocks, shares


EXPERIMENT = Experiment(
    name="overlap",
    title="Overlap of class paths",
    version=1,
    record=OverlapRecord,
    measure=measure,
    tables=tables,
    needs=frozenset({"coded"}),
)
