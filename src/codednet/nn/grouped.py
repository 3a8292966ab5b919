"""The channels of each branch times a matrix of its own: one grouped 1x1 convolution."""

from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from codednet.nn import onednn
from codednet.nn.energy import exactly

# Channels of a group up to which a grouped convolution costs about the same time.
FAST_GROUP = 48


def branch_product(
    u: Float[Tensor, "batch channels height width"], matrices: Float[Tensor, "kept d d"]
) -> Float[Tensor, "batch channels height width"]:
    """M_n u_n of every branch n, in the precision of `u`."""
    kernel = _kernel(matrices, u.dtype)
    with exactly(u):
        return F.conv2d(u, kernel, groups=u.shape[1] // kernel.shape[1])


def add_branch_product(
    total: Float[Tensor, "batch channels height width"],
    u: Float[Tensor, "batch channels height width"],
    matrices: Float[Tensor, "kept d d"],
) -> Float[Tensor, "batch channels height width"]:
    """`total` + M_n u_n; `total` may be overwritten."""
    if onednn.adds(u):
        return onednn.add_convolution(total, u, _kernel(matrices, u.dtype))
    return branch_product(u, matrices).add_(total)


def branches_a_group(kept: int, width: int) -> int:
    """Branches that share a group: a convolution of few channels a group wastes vector lanes."""
    return max(m for m in range(1, kept + 1) if kept % m == 0 and (m == 1 or m * width <= FAST_GROUP))


def grouped_kernel(matrices: Float[Tensor, "kept d d"], share: int) -> Float[Tensor, "channels group 1 1"]:
    """Kernel of the grouped 1x1 convolution that multiplies each branch's channels with its matrix."""
    kept, width = matrices.shape[:2]
    kernel = matrices.view(-1, share, width, 1, width)
    if share > 1:
        kernel = kernel * _diagonal(share, matrices.dtype, matrices.device)
    return kernel.reshape(kept * width, share * width, 1, 1)


@cache
def _diagonal(share: int, dtype: torch.dtype, device: torch.device) -> Float[Tensor, "share 1 share 1"]:
    with torch.inference_mode(False):
        return torch.eye(share, dtype=dtype, device=device)[:, None, :, None]


def _kernel(matrices: Float[Tensor, "kept d d"], dtype: torch.dtype) -> Float[Tensor, "channels group 1 1"]:
    share = 1 if torch.compiler.is_compiling() else branches_a_group(*matrices.shape[:2])
    return grouped_kernel(matrices, share).to(dtype)
