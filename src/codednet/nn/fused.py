"""Energies and projection in one differentiable step whose backward keeps nothing but the hidden tensor.

With autograd alone the layer would store three more tensors as large as u. The backward below recomputes them in
passes that each read and write u once, and folds the three gradients of u into one. The gradient of the weight through
the energies comes from the pixels' Gram matrices, which are small, and kept.
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from codednet.nn.energy import (
    energies_of_grams,
    energy_precision,
    exactly,
    normalise_energies,
    pixel_grams,
    sum_dtype,
)
from codednet.nn.grouped import add_branch_product


class Rule(NamedTuple):
    """What a coded projection does that no tensor says."""

    num_branches: int
    normalise: bool
    eps: float


class Energised(NamedTuple):
    """What is known of an image's branches before they are summed."""

    energies: Float[Tensor, "batch kept"]
    inverse_root: Float[Tensor, "batch 1"]


def energise(energies: Float[Tensor, "batch kept"], keep: Float[Tensor, "rows kept"] | None, rule: Rule) -> Energised:
    """Energies of the kept branches by the rule, and the factor of each image."""
    if keep is not None:
        energies = energies * keep
    if rule.normalise:
        return Energised(*normalise_energies(energies, rule.num_branches, rule.eps))
    return Energised(energies, torch.ones_like(energies[:, :1]))


def masked(scale: Float[Tensor, "batch one_or_kept"], *masks: Tensor | None) -> Float[Tensor, "batch columns"]:
    """The factor of each image, or of each of its branches if a mask is given."""
    for mask in masks:
        if mask is not None:
            scale = scale * mask
    return scale


def over_channels(
    scale: Float[Tensor, "batch one_or_kept"], width: int, dtype: torch.dtype
) -> Float[Tensor, "batch one_or_channels 1 1"]:
    """Factors of branches, repeated for the channels of each."""
    rows, columns = scale.shape
    repeats = width if columns > 1 else 1
    return scale.to(dtype)[:, :, None].expand(-1, -1, repeats).reshape(rows, columns * repeats, 1, 1)


def weigh(
    u: Float[Tensor, "batch channels height width"],
    weight: Float[Tensor, "out channels 1 1"],
    factors: Float[Tensor, "batch one_or_channels 1 1"],
) -> Float[Tensor, "batch out height width"]:
    """Sum of the branches, each times its factor, in the precision of `u` and `weight`."""
    with exactly(u):
        return F.conv2d(u * factors, weight)


class FusedProjection(Function):
    """Output and energies of a coded projection."""

    # Not split into forward and setup_context: PyTorch reads the signature of such a forward again in every call.
    @staticmethod
    def forward(
        ctx: Any,
        u: Float[Tensor, "batch channels height width"],
        weight: Float[Tensor, "out channels 1 1"],
        grams: Float[Tensor, "kept d d"],
        keep: Float[Tensor, "rows kept"] | None,
        drop: Float[Tensor, "batch kept"] | None,
        rule: Rule,
    ) -> tuple[Tensor, Tensor]:
        """Compute the layer in the precision of `u` and `weight`; `grams` are those of the weight."""
        pixels = pixel_grams(energy_precision(u), grams.shape[0])
        raw = energies_of_grams(pixels, grams, weight.shape[0] * u.shape[2] * u.shape[3])
        energies, inverse_root = energise(raw, keep, rule)
        factors = over_channels(masked(inverse_root, keep, drop), grams.shape[1], u.dtype)
        ctx.rule = rule
        ctx.save_for_backward(u, weight, grams, keep, energies, inverse_root, factors, pixels)
        return weigh(u, weight, factors), energies

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_output: Tensor, d_energies: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of u and the weight."""
        u, weight, grams, keep, energies, inverse_root, factors, pixels = ctx.saved_tensors
        wants_u, wants_weight = ctx.needs_input_grad[:2]

        scaled = u * factors
        d_scaled, d_weight = convolution_gradients(d_output, scaled, weight, wants_weight)
        # <d_scaled, scaled>: how the loss changes with the logarithm of an image's factor.
        pull = image_products(d_scaled, scaled)
        d_raw = _raw_energy_gradient(d_energies, energies, inverse_root, pull, keep, ctx.rule)
        pushes = d_raw * (2 / (weight.shape[0] * u.shape[2] * u.shape[3]))

        d_u = None
        if wants_u:
            pushed = torch.mul(u, over_channels(pushes, grams.shape[1], u.dtype), out=scaled)
            d_u = add_branch_product(d_scaled.mul_(factors), pushed, grams)
        if d_weight is not None:
            d_weight = _add_weight_gradient(d_weight, weight, _weighted(pixels, pushes))
        return d_u, d_weight, None, None, None, None


def convolution_gradients(
    d_output: Float[Tensor, "batch out height width"],
    given: Float[Tensor, "batch channels height width"],
    weight: Float[Tensor, "out channels 1 1"],
    wants_weight: bool,
) -> tuple[Tensor, Tensor | None]:
    """Gradients of a 1x1 convolution's input and, if wanted, weight."""
    as_product = wants_weight and _is_quicker_as_product(given)
    wanted = [True, wants_weight and not as_product, False]
    d_given, d_weight, _ = torch.ops.aten.convolution_backward(
        d_output, given, weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, wanted
    )
    if as_product:
        d_weight = torch.mm(_pixel_rows(d_output).T, _pixel_rows(given)).view(weight.shape)
    return d_given, d_weight


def _is_quicker_as_product(given: Tensor) -> bool:
    """Whether a weight's gradient is made faster as the matrix product that it is: in bfloat16 by up to a third."""
    in_rows = given.is_contiguous(memory_format=torch.channels_last)
    return in_rows and given.dtype == torch.bfloat16 and given.device.type == "cpu"


def _pixel_rows(given: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "pixels channels"]:
    """All pixels of all images, a row each; no copy in channels_last."""
    return given.permute(0, 2, 3, 1).reshape(-1, given.shape[1])


def image_products(one: Tensor, other: Tensor) -> Float[Tensor, "batch 1"]:
    """Inner product of two tensors, image by image, in float32 at least; `other` may be overwritten."""
    if one.dtype == torch.bfloat16:
        # In bfloat16 an elementwise product costs a pass more than a matrix product, which sums in float32.
        rows = one.permute(0, 2, 3, 1).reshape(len(one), 1, -1), other.permute(0, 2, 3, 1).reshape(len(one), -1, 1)
        return torch.bmm(*rows).view(-1, 1).float()
    return torch.mul(one, other, out=other).sum((1, 2, 3), dtype=sum_dtype(one.dtype))[:, None]


def _raw_energy_gradient(
    d_energies: Float[Tensor, "batch kept"],
    energies: Float[Tensor, "batch kept"],
    inverse_root: Float[Tensor, "batch 1"],
    pull: Float[Tensor, "batch 1"],
    keep: Float[Tensor, "rows kept"] | None,
    rule: Rule,
) -> Float[Tensor, "batch kept"]:
    """Gradient with respect to the energies before masks and normalisation."""
    gradient = d_energies
    if rule.normalise:
        through_mean = (d_energies * energies).sum(1, keepdim=True).add_(pull, alpha=0.5)
        # Where the mean energy was below eps, it was replaced by a constant.
        through_mean.mul_(inverse_root < rule.eps**-0.5)
        gradient = torch.sub(gradient, through_mean, alpha=1 / rule.num_branches).mul_(inverse_root.square())
    return masked(gradient, keep)


def _weighted(
    pixels: Float[Tensor, "batch kept d d"], pushes: Float[Tensor, "batch kept"]
) -> Float[Tensor, "kept d d"]:
    """Sum over the images of their pixels' Gram matrices, each times its factor."""
    batch, kept, width, _ = pixels.shape
    rows = pixels.view(batch, kept, -1).transpose(0, 1)
    return torch.bmm(pushes.to(pixels.dtype).T[:, None], rows).view(kept, width, width)


def _add_weight_gradient(
    d_weight: Float[Tensor, "out channels 1 1"],
    weight: Float[Tensor, "out channels 1 1"],
    d_grams: Float[Tensor, "kept d d"],
) -> Float[Tensor, "out channels 1 1"]:
    """`d_weight` plus W_n times its matrix, for every branch n."""
    kept, width, _ = d_grams.shape
    total = d_weight.reshape(-1, kept, width).transpose(0, 1)
    # In place, since a product of this shape would have to be copied into the layout of the weight.
    total.baddbmm_(weight.reshape(-1, kept, width).transpose(0, 1), d_grams.to(weight.dtype))
    return total.transpose(0, 1).reshape(weight.shape)
