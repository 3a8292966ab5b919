"""Coded blocks by name, and what follows a block."""

from torch import Tensor

from codednet.errors import CodednetError, nearest_name
from codednet.models import CodedResNeXt


def coded_place(network: CodedResNeXt, block: str) -> int:
    """Place of the coded block of that name among the coded ones, whose words say which branches a class uses."""
    if not network.codes:
        raise CodednetError(f"{network.config.architecture} has no coded blocks, so no words say what a class uses.")
    if block not in network.coded_blocks:
        raise CodednetError(f"no coded block is called {block!r}; {nearest_name(block, network.coded_blocks)}")
    return network.coded_blocks.index(block)


def logits_after(network: CodedResNeXt, index: int, x: Tensor) -> Tensor:
    """Logits, from the output of the block of this index among all blocks."""
    names = [name for name, _ in network.named_blocks()]
    if index + 1 < len(names):
        for step in network.walk(x, start=names[index + 1]):
            x = step.finish()
    return network.forward_head(x)
