"""The one description a network is built from: block by block, which branches exist and which code they obey."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from codednet.codes import Code
from codednet.errors import CodednetError

T = TypeVar("T")
SHORTCUTS = ("projection", "free")


@dataclass(frozen=True, kw_only=True)
class BlockConfig:
    """One block: [out_channels, width, active/num_branches], and which of its branches exist."""

    out_channels: int
    """Channels of the block's output."""
    width: int
    """Channels of one branch, d."""
    num_branches: int
    """Branches of the full network, N; cutting branches out does not change it."""
    active: int
    """Branches that work for one class; as many as there are branches in a plain block."""
    stride: int = 1
    """Stride of the 3x3 convolution."""
    kept: tuple[int, ...] | None = None
    """Branches that exist, in order; None is all of them."""
    code: int | None = None
    """Which of the network's codes the branches obey; None in a plain block."""

    def __post_init__(self) -> None:
        if not 1 <= self.active <= self.num_branches:
            raise CodednetError(
                f"a block has 1 to {self.num_branches} active branches, as many as it has branches; got {self.active}."
            )
        if self.code is not None and not self.is_coded:
            raise CodednetError("a block whose branches are all active obeys no code.")
        kept = self.kept
        if kept is not None and (not kept or list(kept) != sorted(set(kept) & set(range(self.num_branches)))):
            raise CodednetError(
                f"kept branches are increasing indices below {self.num_branches}, at least one; got {list(kept)}."
            )

    @property
    def is_coded(self) -> bool:
        """Whether classes use different branches here; a block of rate 1 is a plain ResNeXt block."""
        return self.active < self.num_branches

    @property
    def branches(self) -> tuple[int, ...]:
        """The branches that exist."""
        return tuple(range(self.num_branches)) if self.kept is None else self.kept

    @property
    def hidden_channels(self) -> int:
        """Channels of the hidden tensor u: width times the branches that exist."""
        return self.width * len(self.branches)


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """A whole network: stem, stages of blocks, codes and classifier. The same config builds the same modules."""

    architecture: str
    """Name of the variant that the network is, or was cut from."""
    stages: tuple[tuple[BlockConfig, ...], ...]
    """Blocks, stage by stage."""
    codes: tuple[Code, ...] = ()
    """One code for each group of blocks that share one; empty in a network without classes or coded blocks."""
    num_classes: int
    """Logits; 0 is no classifier."""
    class_names: tuple[str, ...] | None = None
    """Names of the classes, in the order of the logits."""
    in_chans: int = 3
    """Channels of an image."""
    stem_channels: int = 64
    """Channels that the stem gives to the first stage."""
    stem: Literal["3x3", "7x7"] = "3x3"
    """A 3x3 convolution for small images; or 7x7 with stride 2, then a max pool with stride 2."""
    classifier_bias: bool = False
    """Whether the classifier has a bias."""
    shortcut: str = "projection"
    """Where shapes change: a 1x1 convolution, as in the paper; or free: an average pool and zero-padded channels."""
    normalise: bool = True
    """Energy normalisation of the coded blocks; off only as an ablation."""
    drop_branch: float = 0.1
    """Probability that a branch of a coded block is dropped while training."""
    drop_rate: float = 0.0
    """Dropout before the classifier while training."""
    drop_path_rate: float = 0.0
    """Stochastic depth while training: the rate of the last block; earlier blocks grow linearly to it."""
    global_pool: str = "avg"
    """Pooling before the classifier, by timm's names; empty is none."""

    def __post_init__(self) -> None:
        if self.shortcut not in SHORTCUTS:
            raise CodednetError(f"shortcut must be 'projection' or 'free'; got {self.shortcut!r}.")
        if self.num_classes < 0 or self.in_chans < 1:
            raise CodednetError(
                f"a network has 0 or more classes and 1 or more image channels; "
                f"got num_classes={self.num_classes}, in_chans={self.in_chans}."
            )
        for name in ("drop_branch", "drop_rate", "drop_path_rate"):
            if not 0 <= getattr(self, name) < 1:
                raise CodednetError(f"{name} is a probability below 1; got {getattr(self, name)}.")
        if self.class_names is not None and len(self.class_names) != self.num_classes:
            raise CodednetError(
                f"class_names must name each of the {self.num_classes} classes; got {len(self.class_names)} names."
            )
        self._check_codes()

    def _check_codes(self) -> None:
        for name, block in self.coded_blocks():
            if not self.codes and self.num_classes == 0:
                continue
            if block.code is None or not 0 <= block.code < len(self.codes):
                raise CodednetError(f"{name} obeys code {block.code}, but there are {len(self.codes)} codes.")
            check_code(self.codes[block.code], name, block, self.num_classes)

    def blocks(self) -> Iterator[tuple[str, BlockConfig]]:
        """Each block with its name, such as "layer2.0", in order of depth."""
        for stage, blocks in enumerate(self.stages, start=1):
            for index, block in enumerate(blocks):
                yield f"layer{stage}.{index}", block

    def coded_blocks(self) -> Iterator[tuple[str, BlockConfig]]:
        """Each coded block with its name, in order of depth."""
        return ((name, block) for name, block in self.blocks() if block.is_coded)

    @property
    def is_cut(self) -> bool:
        """Whether some block lacks some of its branches."""
        return any(block.kept is not None for _, block in self.blocks())

    def with_blocks(self, blocks: Sequence[BlockConfig]) -> "NetworkConfig":
        """Network as this one, with other blocks, given in order of depth."""
        return replace(self, stages=regroup(blocks, self.stages))

    def plain(self) -> "NetworkConfig":
        """The plain twin: the same shape, every branch active for every class."""
        blocks = [replace(block, active=block.num_branches, code=None) for _, block in self.blocks()]
        return replace(self.with_blocks(blocks), architecture=self.architecture.removeprefix("coded_"), codes=())

    def narrowed(self, classes: Sequence[int]) -> "NetworkConfig":
        """Network of these classes alone: the branches of their words, their logits, the uncoded blocks whole.

        Classes keep the order given. A block keeps its num_branches, so energies still refer to the full network.
        """
        chosen = list(classes)
        if not chosen or len(set(chosen)) < len(chosen) or not all(0 <= c < self.num_classes for c in chosen):
            raise CodednetError(
                f"classes must be distinct indices from 0 to {self.num_classes - 1}, at least one; got {chosen}."
            )
        words = [code.words[chosen] for code in self.codes]
        blocks = [
            block if block.code is None else replace(block, kept=_kept_for(block, words[block.code]))
            for _, block in self.blocks()
        ]
        names = None if self.class_names is None else tuple(self.class_names[c] for c in chosen)
        return replace(
            self,
            stages=regroup(blocks, self.stages),
            codes=tuple(Code(table) for table in words),
            num_classes=len(chosen),
            class_names=names,
        )


def regroup(blocks: Sequence[T], stages: Sequence[Sequence[object]]) -> tuple[tuple[T, ...], ...]:
    """Blocks in order of depth, as tuples of the lengths of these stages."""
    rest = iter(blocks)
    return tuple(tuple(next(rest) for _ in stage) for stage in stages)


def check_code(code: Code, name: str, block: BlockConfig, num_classes: int) -> None:
    """Refuse a code that does not fit the block, or the classes."""
    if code.num_branches != block.num_branches or code.active != block.active:
        raise CodednetError(
            f"{name} has {block.num_branches} branches of which {block.active} are active; "
            f"its code has words of length {code.num_branches} with {code.active} ones."
        )
    if num_classes and code.num_classes != num_classes:
        raise CodednetError(
            f"the code of {name} needs a word for each of the {num_classes} classes; it has {code.num_classes} words."
        )


def capacity(stages: Sequence[Sequence[BlockConfig]]) -> int | None:
    """Most classes that the blocks can give a word each: the smallest C(num_branches, active) of a coded block.

    None where no block is coded and any number will do.
    """
    coded = [block for stage in stages for block in stage if block.is_coded]
    return min((math.comb(block.num_branches, block.active) for block in coded), default=None)


def _kept_for(block: BlockConfig, words: NDArray[np.uint8]) -> tuple[int, ...]:
    used = words.max(axis=0)
    return tuple(branch for branch in block.branches if used[branch])
