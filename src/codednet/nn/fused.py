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
    gram_product,
    normalise_energies,
    pixel_grams,
    sum_dtype,
)


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
    if scale.shape[1] > 1:
        scale = scale[:, :, None].expand(-1, -1, width).flatten(1)
    return scale[:, :, None, None].to(dtype)


def weigh(
    u: Float[Tensor, "batch channels height width"],
    weight: Float[Tensor, "out channels 1 1"],
    factors: Float[Tensor, "batch one_or_kept"],
    width: int,
) -> Float[Tensor, "batch out height width"]:
    """Sum of the branches, each times its factor, in the precision of `u` and `weight`."""
    with exactly(u):
        return F.conv2d(u * over_channels(factors, width, u.dtype), weight)


class FusedProjection(Function):
    """(output, energies, inverse_root, pixel Grams) of a coded projection; the last two carry no gradient."""

    @staticmethod
    def forward(
        u: Float[Tensor, "batch channels height width"],
        weight: Float[Tensor, "out channels 1 1"],
        grams: Float[Tensor, "kept d d"],
        keep: Float[Tensor, "rows kept"] | None,
        drop: Float[Tensor, "batch kept"] | None,
        rule: Rule,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Compute the layer in the precision of `u` and `weight`; `grams` are those of the weight."""
        pixels = pixel_grams(energy_precision(u), grams.shape[0])
        raw = energies_of_grams(pixels, grams, weight.shape[0] * u.shape[2] * u.shape[3])
        energies, inverse_root = energise(raw, keep, rule)
        output = weigh(u, weight, masked(inverse_root, keep, drop), grams.shape[1])
        return output, energies, inverse_root, pixels

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Keep u, the weight and what is small."""
        u, weight, grams, keep, drop, ctx.rule = inputs
        _, energies, inverse_root, pixels = output
        ctx.mark_non_differentiable(inverse_root, pixels)
        ctx.save_for_backward(u, weight, grams, keep, drop, energies, inverse_root, pixels)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_output: Tensor, d_energies: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of u and the weight."""
        u, weight, grams, keep, drop, energies, inverse_root, pixels = ctx.saved_tensors
        wants_u, wants_weight = ctx.needs_input_grad[:2]
        width = grams.shape[1]
        scale = over_channels(masked(inverse_root, keep, drop), width, u.dtype)

        scaled = u * scale
        d_scaled, d_weight = _conv_backward(d_output, scaled, weight, (True, wants_weight))
        # <d_scaled, scaled>: how the loss changes with the logarithm of an image's factor.
        pull = image_products(d_scaled, scaled)[:, None]
        d_raw = _raw_energy_gradient(d_energies, energies, inverse_root, pull, keep, ctx.rule)
        pushes = d_raw * (2 / (weight.shape[0] * u.shape[2] * u.shape[3]))

        d_u = None
        if wants_u:
            pushed = torch.mul(u, over_channels(pushes, width, u.dtype), out=scaled)
            d_u = gram_product(pushed, grams).add_(d_scaled.mul_(scale))
        if wants_weight:
            d_weight = _add_weight_gradient(d_weight, weight, _weighted(pixels, pushes))
        return d_u, d_weight if wants_weight else None, None, None, None, None


def image_products(one: Tensor, other: Tensor) -> Float[Tensor, " batch"]:
    """Inner product of two tensors, image by image, in float32 at least; `one` or `other` may be overwritten."""
    if one.dtype == torch.bfloat16:
        # In bfloat16 an elementwise product costs a pass more than a matrix product, which sums in float32.
        rows = one.permute(0, 2, 3, 1).reshape(len(one), 1, -1), other.permute(0, 2, 3, 1).reshape(len(one), -1, 1)
        return torch.bmm(*rows).view(-1).float()
    return torch.mul(one, other, out=other).sum((1, 2, 3), dtype=sum_dtype(one.dtype))


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
        through_mean = (pull / 2 + (d_energies * energies).sum(1, keepdim=True)) / rule.num_branches
        # Where the mean energy was below eps, it was replaced by a constant.
        through_mean = through_mean * (inverse_root < rule.eps**-0.5)
        gradient = (gradient - through_mean) * inverse_root.square()
    return masked(gradient, keep)


def _weighted(
    pixels: Float[Tensor, "batch kept d d"], pushes: Float[Tensor, "batch kept"]
) -> Float[Tensor, "kept d d"]:
    """Sum over the images of their pixels' Gram matrices, each times its factor."""
    batch, kept, width, _ = pixels.shape
    rows = pixels.to(pushes.dtype).view(batch, kept, -1).transpose(0, 1)
    return torch.bmm(pushes.T[:, None], rows).view(kept, width, width)


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


def _conv_backward(d_output: Tensor, given: Tensor, weight: Tensor, wanted: tuple[bool, bool]) -> Any:
    """Gradients of a 1x1 convolution's input and weight; None for one that is not wanted."""
    d_input, d_weight, _ = torch.ops.aten.convolution_backward(
        d_output, given, weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [*wanted, False]
    )
    return d_input, d_weight
