"""The walk: a network block by block, each block's hidden tensor, energies and output when asked for.

What is not asked for is not computed: stop before `finish` and the block's last convolution never runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from jaxtyping import Float
from timm.models import checkpoint
from torch import Tensor

from codednet.errors import CodednetError, nearest_name
from codednet.models.block import Bottleneck, CodedBottleneck
from codednet.models.stage import Drops, drop_of
from codednet.nn.projection import Reading

Keep = Sequence[Tensor | None]


class Trace(NamedTuple):
    """Everything one pass saw."""

    logits: Float[Tensor, "batch classes"]
    energies: list[Float[Tensor, "batch branches"]]
    """In float32, for each coded block, in order of depth; a row sums to the number of branches."""


class Step:
    """One block on the way: its input, and on demand its hidden tensor u, its energies and its output."""

    def __init__(
        self,
        name: str,
        index: int,
        block: Bottleneck,
        x: Tensor,
        keep: Tensor | None = None,
        drop: Tensor | None = None,
        checkpointed: bool = False,
    ) -> None:
        self.name = name
        self.index = index
        self.block = block
        self.input = x
        self._keep, self._drop, self._checkpointed = keep, drop, checkpointed
        self._hidden: Tensor | None = None
        self._reading: Reading | None = None
        self._energies: Tensor | None = None
        self._output: Tensor | None = None

    @property
    def is_coded(self) -> bool:
        """Whether the block has energies."""
        return self.block.is_coded

    @property
    def hidden(self) -> Float[Tensor, "batch hidden height width"]:
        """The hidden tensor u, from which energies and output follow."""
        if self._hidden is None:
            self._hidden = self.block.hidden(self.input)
        return self._hidden

    @property
    def energies(self) -> Float[Tensor, "batch branches"] | None:
        """Energies in float32 of a coded block, known before its last convolution; None of a plain one."""
        if self._energies is None and isinstance(self.block, CodedBottleneck):
            self._reading = self.block.read(self.hidden, self._keep)
            self._energies = self._reading.energies
        return self._energies

    def finish(self) -> Tensor:
        """Output of the block, and next block's input; a second call gives the same tensor."""
        if self._output is None:
            self._output = self._run()
        return self._output

    def _run(self) -> Tensor:
        block = self.block
        if not isinstance(block, CodedBottleneck):
            if self._hidden is not None:
                return block.merge(block.conv3(self._hidden), self.input)
            output: Tensor = checkpoint(block, self.input) if self._checkpointed else block(self.input)
            return output
        if self._reading is not None:
            return block.finish(self.input, self.hidden, self._reading, self._drop)
        if self._hidden is not None:
            total, self._energies = block.conv3(self._hidden, self._keep, self._drop)
            return block.merge(total, self.input)
        arguments = self.input, self._keep, self._drop
        output, self._energies = checkpoint(block.run, *arguments) if self._checkpointed else block.run(*arguments)
        return output


class Pass(NamedTuple):
    """What one pass does to its blocks."""

    keeps: Mapping[str, Tensor | None]
    """Branches removed, by coded block."""
    drops: Drops | None
    """Branches dropped, by code."""
    checkpointed: bool
    """Whether a block's tensors are computed again in the backward pass."""


def walk(blocks: Sequence[tuple[str, Bottleneck]], first: int, x: Tensor, through: Pass) -> Iterator[Step]:
    """Each block in order of depth, from the first of these indices on, whose input is x."""
    for index in range(first, len(blocks)):
        name, block = blocks[index]
        drop = drop_of(block, through.drops)
        step = Step(name, index, block, x, through.keeps.get(name), drop, through.checkpointed)
        yield step
        x = step.finish()


def find_block(names: Sequence[str], name: str) -> int:
    """Index of the block of that name."""
    if name not in names:
        raise CodednetError(f"no block is called {name!r}; {nearest_name(name, names)}")
    return names.index(name)


def keep_by_block(coded_blocks: Sequence[str], keep: Keep | None) -> dict[str, Tensor | None]:
    """Entries of `keep` by the name of the coded block that they belong to."""
    if keep is None:
        return {}
    if len(keep) != len(coded_blocks):
        raise CodednetError(
            f"keep must have an entry for each of the {len(coded_blocks)} coded blocks ({', '.join(coded_blocks)}), "
            f"None where nothing is removed; got {len(keep)}."
        )
    return dict(zip(coded_blocks, keep, strict=True))
