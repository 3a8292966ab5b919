"""Branch energies without the N-fold tensor: from two small Gram matrices a branch.

The output of branch n is linear in its last hidden tensor, t_n = W_n u_n, so with M_n = W_n^T W_n

    E(t_n) = <M_n, sum over pixels of u_n u_n^T> / (C H W)

The second matrix, of an image's pixels, is d x d as well: one pass over u makes it, and the gradient of W_n needs
nothing else of u.
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


def branch_grams(weight: Float[Tensor, "out channels 1 1"], branches: int) -> Float[Tensor, "kept d d"]:
    """W_n^T W_n of every branch n, in a precision that holds squares."""
    matrix = energy_precision(weight).view(weight.shape[0], branches, -1).transpose(0, 1).contiguous()
    with exactly(matrix):
        return torch.bmm(matrix.mT, matrix)


def pixel_grams(u: Float[Tensor, "batch channels height width"], branches: int) -> Float[Tensor, "batch kept d d"]:
    """Sum over the pixels of u_n u_n^T, of every image and branch, in the precision of `u`."""
    batch, channels, height, width = u.shape
    if u.is_contiguous() and not u.is_contiguous(memory_format=torch.channels_last):
        rows = u.reshape(batch * branches, -1, height * width).mT
    else:
        pixels = u.permute(0, 2, 3, 1).reshape(batch, height * width, branches, -1)
        rows = pixels.transpose(1, 2).reshape(batch * branches, height * width, -1)
    with exactly(u):
        return torch.bmm(rows.mT, rows).view(batch, branches, channels // branches, -1)


def energies_of_grams(
    pixels: Float[Tensor, "batch kept d d"], grams: Float[Tensor, "kept d d"], count: int
) -> Float[Tensor, "batch kept"]:
    """<M_n, u_n u_n^T> of every image and branch over `count`, the entries of a branch's output (equation 2).

    In float32 at least. Never negative, though rounding can leave a near-silent branch slightly below zero.
    """
    # Not a matrix product: of matrix and vector, batched, that is four times slower on a CPU.
    return ((pixels * grams).sum((2, 3), dtype=sum_dtype(pixels.dtype)) / count).clamp_min(0)


def branch_energies(
    u: Float[Tensor, "batch channels height width"], grams: Float[Tensor, "kept d d"], out_channels: int
) -> Float[Tensor, "batch kept"]:
    """Mean square of every branch's output (equation 2), in float32 at least.

    Products are taken in the precision of `u`, sums in float32.
    """
    pixels = pixel_grams(energy_precision(u), grams.shape[0])
    return energies_of_grams(pixels, grams, out_channels * u.shape[2] * u.shape[3])


def energy_precision(u: Tensor) -> Tensor:
    """`u` in a precision that holds squares: they leave the range of float16."""
    return u.float() if u.dtype == torch.float16 else u


def pixel_means(
    products: Float[Tensor, "batch channels height width"], matrices: Float[Tensor, "kept d d"]
) -> Float[Tensor, "batch kept"]:
    """Means over the pixels, summed over the channels of each branch, in the precision of its matrix."""
    if torch.compiler.is_compiling():
        means = products.mean((2, 3), dtype=matrices.dtype)
    else:
        # A pool over all pixels is the fastest sum over them in channels_last, and keeps its sums in float32.
        means = F.avg_pool2d(products, products.shape[2:])
    return means.view(-1, *matrices.shape[:2]).sum(2, dtype=matrices.dtype)


def normalise_energies(energies: Float[Tensor, "batch kept"], num_branches: int, eps: float = EPS) -> Normalised:
    """Energies divided by their mean over `num_branches`, the original number (equation 3).

    An image whose mean energy is below `eps` is divided by `eps`, so that silence stays finite.
    """
    mean = (energies.sum(1, keepdim=True) / num_branches).clamp_min(eps)
    return Normalised(energies / mean, mean.rsqrt())


def sum_dtype(dtype: torch.dtype) -> torch.dtype:
    """The precision sums are kept in: float64 for float64, else float32."""
    return torch.promote_types(dtype, torch.float32)


def exactly(given: Tensor) -> torch.autocast | nullcontext[None]:
    """A context in which operations keep the precision of what they are given."""
    # Entered only where it changes something: it costs time, and an exported graph then holds no trace of it.
    device = given.device.type
    if torch.is_autocast_enabled(device) and given.dtype != torch.get_autocast_dtype(device):
        return torch.autocast(device, enabled=False)
    return nullcontext()
