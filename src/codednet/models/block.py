"""Blocks: the plain ResNeXt bottleneck, and the coded one that differs in its last convolution alone."""

from jaxtyping import Float, Shaped
from torch import Tensor, nn

from codednet.models.config import BlockConfig
from codednet.nn.projection import CodedProjection, Projected, Reading

Features = Float[Tensor, "batch channels height width"]
Hidden = Float[Tensor, "batch hidden height2 width2"]
Output = Float[Tensor, "batch out height2 width2"]
Mask = Float[Tensor, "batch branches"]
Keep = Shaped[Tensor, "*rows branches"]


class Bottleneck(nn.Module):
    """The plain ResNeXt block, y = relu(bn(conv3(u)) + shortcut(x)), with timm's module names.

    Branches are the groups of conv2; an absent branch has no channels in conv1, conv2 and conv3.
    """

    is_coded = False

    def __init__(
        self,
        in_channels: int,
        config: BlockConfig,
        shortcut: nn.Module | None = None,
        drop_path: nn.Module | None = None,
        conv3: nn.Conv2d | None = None,
    ) -> None:
        super().__init__()
        hidden, out, groups = config.hidden_channels, config.out_channels, len(config.branches)
        self.config = config
        self.conv1 = nn.Conv2d(in_channels, hidden, kernel_size=1, bias=False)
        self.bn1 = nn.BatchNorm2d(hidden)
        self.act1 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(hidden, hidden, 3, stride=config.stride, padding=1, groups=groups, bias=False)
        self.bn2 = nn.BatchNorm2d(hidden)
        self.act2 = nn.ReLU(inplace=True)
        self.conv3 = nn.Conv2d(hidden, out, kernel_size=1, bias=False) if conv3 is None else conv3
        self.bn3 = nn.BatchNorm2d(out)
        self.act3 = nn.ReLU(inplace=True)
        self.downsample = shortcut
        self.drop_path = drop_path

    def zero_init_last(self) -> None:
        """Start the block as its shortcut: the last batch norm's gamma is zero."""
        nn.init.zeros_(self.bn3.weight)

    def hidden(self, x: Features) -> Hidden:
        """Hidden tensor u: what the branches hold before the last convolution."""
        x = self.act1(self.bn1(self.conv1(x)))
        x = self.act2(self.bn2(self.conv2(x)))
        return x  # noqa: RET504

    def shortcut(self, x: Features) -> Output:
        """What the branches are added to: the block's input, brought to the shape of its output."""
        return x if self.downsample is None else self.downsample(x)

    def add(self, total: Output, shortcut: Output) -> Output:
        """Output of the block, from the sum over its branches and its shortcut."""
        total = self.bn3(total)
        if self.drop_path is not None:
            total = self.drop_path(total)
        total += shortcut
        total = self.act3(total)
        return total  # noqa: RET504

    def merge(self, total: Output, x: Features) -> Output:
        """Output of the block, from the sum over its branches and the block's input."""
        return self.add(total, self.shortcut(x))

    def forward(self, x: Features) -> Output:
        """Output of the block."""
        return self.merge(self.conv3(self.hidden(x)), x)


class CodedBottleneck(Bottleneck):
    """A block whose branches' energies are normalised, read and, while training, dropped."""

    is_coded = True
    conv3: CodedProjection

    def __init__(
        self,
        in_channels: int,
        config: BlockConfig,
        shortcut: nn.Module | None = None,
        drop_path: nn.Module | None = None,
        normalise: bool = True,
    ) -> None:
        conv3 = CodedProjection(
            config.hidden_channels,
            config.out_channels,
            config.num_branches,
            kept=config.kept,
            normalise=normalise,
        )
        super().__init__(in_channels, config, shortcut, drop_path, conv3)

    def read(self, u: Hidden, keep: Keep | None = None) -> Reading:
        """Energies of the branches, read from the hidden tensor alone."""
        return self.conv3.read(u, keep)

    def finish(self, x: Features, u: Hidden, reading: Reading, drop: Mask | None = None) -> Output:
        """Output of the block, from its input, its hidden tensor and what was read from that."""
        return self.merge(self.conv3.project(u, reading.scale, drop), x)

    def run(self, x: Features, keep: Keep | None = None, drop: Mask | None = None) -> Projected:
        """Output of the block together with its energies, in one pass."""
        total, energies = self.conv3(self.hidden(x), keep, drop)
        return Projected(self.merge(total, x), energies)

    def forward(self, x: Features, drop: Mask | None = None) -> Output:
        """Output of the block, its energies left aside."""
        return self.merge(self.conv3.total(self.hidden(x), drop, reuse=True), x)
