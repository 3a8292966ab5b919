"""What a block adds its branches to when shapes change: a projection, or a pool and zeros without parameters."""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad


class FreeShortcut(nn.Module):
    """Average pool over the stride, then channels of zeros; no parameters, and nothing that a class path must carry."""

    def __init__(self, in_channels: int, out_channels: int, stride: int) -> None:
        super().__init__()
        self.extra = out_channels - in_channels
        # As in timm's average-pool downsample: odd sizes round up, as the strided convolution's do.
        self.pool = nn.AvgPool2d(2, stride, ceil_mode=True, count_include_pad=False) if stride > 1 else nn.Identity()

    def forward(self, x: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch out height2 width2"]:
        """Input, pooled and padded to the shape of the block's output."""
        return pad(self.pool(x), (0, 0, 0, 0, 0, self.extra))


def make_shortcut(kind: str, in_channels: int, out_channels: int, stride: int) -> nn.Module | None:
    """Shortcut of a block; None where shapes do not change and the input itself serves."""
    if stride == 1 and in_channels == out_channels:
        return None
    if kind == "free":
        return FreeShortcut(in_channels, out_channels, stride)
    return nn.Sequential(
        nn.Conv2d(in_channels, out_channels, kernel_size=1, stride=stride, bias=False),
        nn.BatchNorm2d(out_channels),
    )
