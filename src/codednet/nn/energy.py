"""Branch energies without the N-fold tensor: from d x d Gram matrices, in two passes over the hidden tensor.

The output of branch n is linear in its last hidden tensor, t_n = W_n u_n, so with M_n = W_n^T W_n

    E(t_n) = sum over pixels of u_n^T M_n u_n / (C H W)

and M u of all branches is one grouped 1x1 convolution, which every memory format and device has a fast kernel for.
"""

from contextlib import nullcontext
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

# 1 / sqrt(EPS) is the largest scale of an image; float16 can still hold it.
EPS = 1e-9


class Normalised(NamedTuple):
    """Energies whose mean over the original branches is 1, and what to multiply branch outputs with to get there."""

    energies: Float[Tensor, "batch kept"]
    inverse_root: Float[Tensor, "batch 1"]


def branch_grams(weight: Float[Tensor, "out channels 1 1"], branches: int) -> Float[Tensor, "kept width width"]:
    """W_n^T W_n of every branch n, in float32 at least, also under autocast."""
    matrix = weight.flatten(1).to(sum_dtype(weight.dtype)).unflatten(1, (branches, -1)).transpose(0, 1)
    with no_autocast(weight.device):
        return matrix.mT @ matrix


def branch_energies(
    u: Float[Tensor, "batch channels height width"], grams: Float[Tensor, "kept width width"], out_channels: int
) -> Float[Tensor, "batch kept"]:
    """Mean square of every branch's output (equation 2), in float32 at least.

    Products are taken in the precision of `u`, sums in float32. Never negative.
    """
    if u.dtype == torch.float16:
        u = u.float()  # squares leave the range of float16
    products = u * gram_product(u, grams)
    sums = products.sum((2, 3), dtype=sum_dtype(u.dtype)).unflatten(1, grams.shape[:2]).sum(2)
    # Rounding can leave the energy of a near-silent branch slightly below zero.
    return (sums / (out_channels * u.shape[2] * u.shape[3])).clamp_min(0)


def gram_product(
    u: Float[Tensor, "batch channels height width"], grams: Float[Tensor, "kept width width"]
) -> Float[Tensor, "batch channels height width"]:
    """M_n u_n of every branch, in the precision of `u`."""
    with no_autocast(u.device):
        return F.conv2d(u, gram_kernel(grams, u.dtype), groups=grams.shape[0])


def gram_kernel(grams: Float[Tensor, "kept width width"], dtype: torch.dtype) -> Float[Tensor, "channels width 1 1"]:
    """The Gram matrices as the kernel of a grouped 1x1 convolution."""
    return grams.flatten(0, 1)[:, :, None, None].to(dtype)


def normalise_energies(energies: Float[Tensor, "batch kept"], num_branches: int, eps: float = EPS) -> Normalised:
    """Energies divided by their mean over `num_branches`, the original number (equation 3).

    An image whose mean energy is below `eps` is divided by `eps`, so that silence stays finite.
    """
    mean = (energies.sum(1, keepdim=True) / num_branches).clamp_min(eps)
    return Normalised(energies / mean, mean.rsqrt())


def sum_dtype(dtype: torch.dtype) -> torch.dtype:
    """The precision sums are kept in: float64 for float64, else float32."""
    return torch.promote_types(dtype, torch.float32)


def no_autocast(device: torch.device) -> torch.autocast | nullcontext[None]:
    """A context in which operations keep the precision of what they are given."""
    # Entered only where it changes something: an exported graph then holds no trace of it.
    if torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()
