"""Mixup and cutmix of a whole batch."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from codednet.errors import CodednetError


class Mixed(NamedTuple):
    """A batch in which each image is mixed with another, its partner.

    Its loss is share * loss(labels) + (1 - share) * loss(labels[partners]).
    """

    images: Float[Tensor, "batch channels height width"]
    partners: Int[Tensor, " batch"]
    """Place, in the batch, of what each image is mixed with."""
    share: float
    """How much of each image is its own."""


def mix(
    images: Float[Tensor, "batch channels height width"], *, mixup: float, cutmix: float, draw: np.random.Generator
) -> Mixed:
    """The images mixed by mixup or cutmix with these alphas; with both above 0, either with probability one half.

    With none above 0 the images are as they were, and share is 1.
    """
    if not (0 <= mixup < float("inf") and 0 <= cutmix < float("inf")):
        raise CodednetError(f"mixup and cutmix must be 0 or more; got {mixup} and {cutmix}.")
    partners = torch.from_numpy(draw.permutation(len(images))).to(images.device)
    if not mixup and not cutmix:
        return Mixed(images, torch.arange(len(images), device=images.device), 1.0)
    cut = not mixup or (cutmix > 0 and draw.random() < 0.5)
    alpha = cutmix if cut else mixup
    share = float(draw.beta(alpha, alpha))
    if not cut:
        return Mixed(images * share + images[partners] * (1 - share), partners, share)
    height, width = images.shape[2:]
    top, bottom = _side(height, share, draw)
    left, right = _side(width, share, draw)
    mixed = images.clone()
    mixed[:, :, top:bottom, left:right] = images[partners, :, top:bottom, left:right]
    # The rectangle ends at the border, so the share is that of the pixels left.
    return Mixed(mixed, partners, 1 - (bottom - top) * (right - left) / (height * width))


def _side(length: int, share: float, draw: np.random.Generator) -> tuple[int, int]:
    """Where the rectangle begins and ends: centred anywhere, sqrt(1 - share) of the length, cut at the border."""
    half = int(length * (1 - share) ** 0.5) // 2
    centre = int(draw.integers(length))
    return max(centre - half, 0), min(centre + half, length)
