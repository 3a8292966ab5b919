"""The channels of each branch times a matrix of its own: one grouped 1x1 convolution."""

from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

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
    if not _adds_in_place(u):
        return branch_product(u, matrices).add_(total)
    kernel = _kernel(matrices, u.dtype)
    return _add_convolution(total, u, kernel)


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


def _adds_in_place(u: Tensor) -> bool:
    """Whether a convolution of this tensor can add what it gives to another."""
    return (
        u.device.type == "cpu"
        and u.is_contiguous(memory_format=torch.channels_last)
        and not torch.compiler.is_compiling()
        and _onednn_adds(u.dtype)
    )


@cache
def _onednn_adds(dtype: torch.dtype) -> bool:
    """Whether this build of torch, on this processor, has the convolution that adds: torch promises it to no one."""
    one = torch.ones(1, 1, 1, 1, dtype=dtype)
    try:
        return bool((_add_convolution(one.clone(), one, one) == 2).all())
    except (AttributeError, RuntimeError):
        return False


def _add_convolution(total: Tensor, u: Tensor, kernel: Tensor) -> Tensor:
    """`total` + the grouped convolution, in the memory of `total`: a pass and a tensor less than the two apart."""
    groups = u.shape[1] // kernel.shape[1]
    convolve = torch.ops.mkldnn._convolution_pointwise_.binary
    added: Tensor = convolve(total, u, kernel, None, [0, 0], [1, 1], [1, 1], groups, "add", None, None, [], None)
    return added
