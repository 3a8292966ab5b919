"""A stage: blocks in a row, each coded one given its dropped branches."""

from collections.abc import Mapping

from timm.layers.drop import DropPath
from timm.models import checkpoint
from torch import Tensor, nn

from codednet.models.block import Bottleneck, CodedBottleneck
from codednet.models.config import NetworkConfig
from codednet.models.shortcut import make_shortcut

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
    return None if drops is None or code is None else drops.get(code)


def make_stages(network: NetworkConfig) -> list[Stage]:
    """Stages of a network, each block with its shortcut and its share of stochastic depth."""
    channels, depth = network.stem_channels, 0
    last = max(sum(len(stage) for stage in network.stages) - 1, 1)
    stages = []
    for stage in network.stages:
        blocks: list[Bottleneck] = []
        for config in stage:
            rate = network.drop_path_rate * depth / last
            parts = (
                make_shortcut(network.shortcut, channels, config.out_channels, config.stride),
                DropPath(rate) if rate else None,
            )
            if config.is_coded:
                blocks.append(CodedBottleneck(channels, config, *parts, normalise=network.normalise))
            else:
                blocks.append(Bottleneck(channels, config, *parts))
            channels, depth = config.out_channels, depth + 1
        stages.append(Stage(*blocks))
    return stages
