"""A stage: blocks in a row, each coded one given its dropped branches."""

from collections.abc import Mapping

from timm.models import checkpoint
from torch import Tensor, nn

from codednet.models.block import Bottleneck

Drops = Mapping[int, Tensor]
"""Dropped branches of one pass, by code: blocks that obey one code share one mask. Empty when nothing is dropped."""


class Stage(nn.Sequential):
    """Blocks in a row; keys and hooks as those of timm's stages."""

    grad_checkpointing = False

    def forward(self, x: Tensor, drops: Drops | None = None) -> Tensor:
        """Output of the last block."""
        block: Bottleneck
        for block in self:  # type: ignore[assignment]
            drop = drop_of(block, drops)
            arguments = (x,) if drop is None else (x, drop)
            x = checkpoint(block, *arguments) if self.grad_checkpointing else block(*arguments)
        return x


def drop_of(block: Bottleneck, drops: Drops | None) -> Tensor | None:
    """Mask of the block among those of the pass."""
    code = block.config.code
    return None if drops is None or code is None else drops[code]
