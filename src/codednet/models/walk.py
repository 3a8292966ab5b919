"""The walk: a network block by block, each block's hidden tensor, energies and output when asked for.

What is not asked for is not computed: stop before `finish` and the block's last convolution never runs.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from timm.models import checkpoint
from torch import Tensor

from codednet.errors import CodednetError, nearest_name
from codednet.models.block import Bottleneck, CodedBottleneck
from codednet.models.stage import drop_of
from codednet.nn.projection import Reading

if TYPE_CHECKING:
    from codednet.models.network import CodedResNeXt

Keep = Sequence[Tensor | None]


class Trace(NamedTuple):
    """Everything one pass saw."""

    logits: Tensor
    """(batch, classes)"""
    energies: list[Tensor]
    """(batch, branches) float32 for each coded block, in order of depth; a row sums to the number of branches."""


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
    ) -> None:
        self.name = name
        self.index = index
        self.block = block
        self.input = x
        self._keep, self._drop = keep, drop
        self._hidden: Tensor | None = None
        self._reading: Reading | None = None
        self._energies: Tensor | None = None
        self._output: Tensor | None = None

    @property
    def is_coded(self) -> bool:
        """Whether the block has energies."""
        return self.block.is_coded

    @property
    def hidden(self) -> Tensor:
        """The hidden tensor u, from which energies and output follow."""
        if self._hidden is None:
            self._hidden = self.block.hidden(self.input)
        return self._hidden

    @property
    def energies(self) -> Tensor | None:
        """(batch, branches) float32 of a coded block, known before its last convolution; None of a plain one."""
        if self._energies is None and isinstance(self.block, CodedBottleneck):
            self._reading = self.block.read(self.hidden, self._keep)
            self._energies = self._reading.energies
        return self._energies

    def finish(self, checkpointed: bool = False) -> Tensor:
        """Output of the block, and next block's input; a second call gives the same tensor."""
        if self._output is None:
            self._output = self._run(checkpointed)
        return self._output

    def _run(self, checkpointed: bool) -> Tensor:
        block = self.block
        if not isinstance(block, CodedBottleneck):
            if self._hidden is not None:
                return block.merge(block.conv3(self._hidden), self.input)
            output: Tensor = checkpoint(block, self.input) if checkpointed else block(self.input)
            return output
        if self._reading is not None:
            return block.finish(self.input, self.hidden, self._reading, self._drop)
        if self._hidden is not None:
            total, self._energies = block.conv3(self._hidden, self._keep, self._drop)
            return block.merge(total, self.input)
        arguments = self.input, self._keep, self._drop
        output, self._energies = checkpoint(block.run, *arguments) if checkpointed else block.run(*arguments)
        return output


def walk(model: "CodedResNeXt", x: Tensor, start: str | None = None, keep: Keep | None = None) -> Iterator[Step]:
    """Each block in order of depth, from the block named `start` (whose input is then x) or from the images x.

    `keep` has an entry for each coded block of the network, wherever the walk starts: None, or 1/0 of shape
    (branches,) or (batch, branches); 0 removes a branch before the energies are normalised.
    """
    blocks = list(model.named_blocks())
    keeps = keep_by_block(model.coded_blocks, keep)
    first = 0
    if start is None:
        x = model.stem(x)
    else:
        names = [name for name, _ in blocks]
        if start not in names:
            raise CodednetError(f"no block is called {start!r}; {nearest_name(start, names)}")
        first = names.index(start)
    drops = model.drops(x)
    for index, (name, block) in enumerate(blocks[first:], start=first):
        step = Step(name, index, block, x, keeps.get(name), drop_of(block, drops))
        yield step
        x = step.finish(model.grad_checkpointing)


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
