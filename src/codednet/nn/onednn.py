"""Two convolutions of oneDNN that PyTorch's compiler calls and its documentation does not name.

Each is tried once, on this processor and with this build of PyTorch, and left alone where it is missing or gives
anything but what it should.
"""

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.flop_counter import flop_registry, register_flop_formula

# Padding, stride and dilation of a 1x1 convolution.
PLAIN = [0, 0], [1, 1], [1, 1]


def adds(u: Float[Tensor, "batch channels height width"]) -> bool:
    """Whether `add_convolution` may be called with this tensor."""
    return _is_for(u) and _can_add(u.dtype)


def packs(u: Float[Tensor, "batch channels height width"]) -> bool:
    """Whether `pack` and `convolve_packed` may be called for this tensor."""
    return _is_for(u) and _can_pack(u.dtype)


def add_convolution(
    total: Float[Tensor, "batch out height width"],
    u: Float[Tensor, "batch channels height width"],
    kernel: Float[Tensor, "out group 1 1"],
) -> Float[Tensor, "batch out height width"]:
    """`total` + the grouped convolution, in the memory of `total`: a pass and a tensor less than the two apart."""
    groups = u.shape[1] // kernel.shape[1]
    convolve = torch.ops.mkldnn._convolution_pointwise_.binary
    added: Tensor = convolve(total, u, kernel, None, *PLAIN, groups, "add", None, None, [], None)
    return added


def pack(weight: Float[Tensor, "out channels 1 1"], shape: Sequence[int]) -> Tensor:
    """The weight in the order in which a convolution of a tensor of this shape reads it."""
    packed: Tensor = torch.ops.mkldnn._reorder_convolution_weight(weight, *PLAIN, 1, list(shape))
    return packed


def convolve_packed(
    u: Float[Tensor, "batch channels height width"], packed: Tensor
) -> Float[Tensor, "batch out height width"]:
    """The 1x1 convolution with a weight that `pack` gave."""
    output: Tensor = torch.ops.mkldnn._convolution_pointwise(u, packed, None, *PLAIN, 1, "none", [], None)
    return output


def _is_for(u: Tensor) -> bool:
    return (
        u.device.type == "cpu"
        and u.is_contiguous(memory_format=torch.channels_last)
        and not torch.compiler.is_compiling()
        and not torch.jit.is_tracing()  # type: ignore[attr-defined, no-untyped-call]
    )


@cache
def _can_add(dtype: torch.dtype) -> bool:
    one = torch.ones(1, 1, 1, 1, dtype=dtype)
    try:
        return bool((add_convolution(one.clone(), one, one) == 2).all())
    except (AttributeError, RuntimeError):
        return False


@cache
def _can_pack(dtype: torch.dtype) -> bool:
    weight = torch.arange(12.0).reshape(4, 3, 1, 1).to(dtype)
    u = torch.arange(6.0).reshape(1, 3, 2, 1).to(dtype).to(memory_format=torch.channels_last)
    try:
        found = convolve_packed(u, pack(weight, u.shape))
    except (AttributeError, RuntimeError):
        return False
    wanted = torch.einsum("oc,bchw->bohw", weight[:, :, 0, 0].double(), u.double())
    return bool((found == wanted.to(dtype)).all())


def _count_packed(_: Sequence[int], weight: Sequence[int], *__: Any, out_shape: Sequence[int] = (), **___: Any) -> int:
    """Operations of a packed convolution, so that torch's counter does not overlook them."""
    return 2 * prod(out_shape) * weight[1]


if hasattr(torch.ops.mkldnn, "_convolution_pointwise") and torch.ops.mkldnn._convolution_pointwise not in flop_registry:
    register_flop_formula(torch.ops.mkldnn._convolution_pointwise)(_count_packed)
