"""Equations 1 to 5 word for word, with the full (batch, N, C, H, W) tensor: the oracle of the coded layer's tests."""

from typing import NamedTuple

import torch
from torch import Tensor


class Shape(NamedTuple):
    """A coded block of a shipped variant: output channels, branches, channels of each."""

    out: int
    branches: int
    width: int


# Every coded block of every ResNeXt variant, and the small first stages, which may be coded as well.
BLOCKS = {
    "resnext29_10x11d": [Shape(256, 10, 11), Shape(512, 10, 22), Shape(1024, 10, 44)],
    "resnext29_20x6d": [Shape(256, 20, 6), Shape(512, 20, 12), Shape(1024, 20, 24)],
    "resnext50_32x4d": [Shape(256, 32, 4), Shape(512, 32, 8), Shape(1024, 32, 16), Shape(2048, 32, 32)],
    "resnext20_10x6d": [Shape(128, 10, 6), Shape(256, 10, 12), Shape(512, 10, 24)],
    "resnext20_10x4d": [Shape(64, 10, 4), Shape(128, 10, 8), Shape(256, 10, 16)],
}


class Naive(NamedTuple):
    output: Tensor
    energies: Tensor


def project(
    u: Tensor,
    weight: Tensor,
    num_branches: int,
    keep: Tensor | None = None,
    drop: Tensor | None = None,
    kept: list[int] | None = None,
    normalise: bool = True,
) -> Naive:
    """t_n = W_n u_n for all n; their energies; their normalised sum. Absent branches are branches with t_n = 0."""
    batch, channels, height, width = u.shape
    exists = kept if kept is not None else list(range(num_branches))
    hidden = u.reshape(batch, len(exists), channels // len(exists), height, width)
    matrices = weight.reshape(weight.shape[0], len(exists), channels // len(exists))
    t = torch.zeros(batch, num_branches, weight.shape[0], height, width, dtype=u.dtype)
    t = t.index_copy(1, torch.tensor(exists), torch.einsum("cnd,bndhw->bnchw", matrices, hidden))
    if keep is not None:
        t = t * keep.expand(batch, num_branches)[:, :, None, None, None]
    energies = (t**2).mean((2, 3, 4))  # equation 2
    if normalise:
        average = energies.sum(1) / num_branches
        t = t / average.sqrt()[:, None, None, None, None]  # equation 3
        energies = (t**2).mean((2, 3, 4))
    if drop is not None:
        t = t * drop[:, :, None, None, None]
    return Naive(t.sum(1), energies)  # equation 1


def coding_loss(energies: Tensor, labels: Tensor, words: Tensor, exponent: int = 4) -> Tensor:
    """Equation 4, image by image and branch by branch."""
    num_branches = words.shape[1]
    total = energies.new_zeros(())
    for image, label in enumerate(labels.tolist()):
        rate = float(words[label].sum()) / num_branches
        for n in range(num_branches):
            total = total + (rate * energies[image, n] - float(words[label, n])).abs() ** exponent / num_branches
    return total / len(labels)


def assert_close(found: Tensor, wanted: Tensor, tolerance: float) -> None:
    """Equal within `tolerance` of the largest entry."""
    error = (found.detach().double() - wanted.detach().double()).abs().max()
    largest = wanted.detach().double().abs().max()
    assert error <= tolerance * largest, (
        f"off by {float(error / largest):.2e} of the largest entry {float(largest):.3g}"
    )
