"""The coded layer and its loss as the equations say them, with the full (batch, N, C, H, W) tensor.

What the tests compare the fast form with, and what the benchmark measures it against; no network uses it.
"""

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from codednet.nn.projection import CodedProjection, Projected


def naive_projection(
    u: Float[Tensor, "batch channels height width"],
    weight: Float[Tensor, "out channels 1 1"],
    num_branches: int,
    *,
    keep: Shaped[Tensor, "*rows branches"] | None = None,
    drop: Float[Tensor, "batch branches"] | None = None,
    kept: tuple[int, ...] | None = None,
    normalise: bool = True,
) -> Projected:
    """t_n = W_n u_n of every branch, their energies and their normalised sum; t_n = 0 where a branch does not exist."""
    batch, channels, height, width = u.shape
    exists = kept if kept is not None else tuple(range(num_branches))
    hidden = u.reshape(batch, len(exists), channels // len(exists), height, width)
    matrices = weight.reshape(weight.shape[0], len(exists), channels // len(exists))
    t = torch.einsum("cnd,bndhw->bnchw", matrices, hidden)
    if len(exists) < num_branches:
        absent = t.new_zeros(batch, num_branches, *t.shape[2:])
        t = absent.index_copy(1, torch.tensor(exists, device=u.device), t)
    if keep is not None:
        t = t * keep.expand(batch, num_branches)[:, :, None, None, None]
    energies = t.square().mean((2, 3, 4))  # equation 2
    if normalise:
        average = energies.sum(1) / num_branches
        t = t / average.sqrt()[:, None, None, None, None]  # equation 3
        energies = t.square().mean((2, 3, 4))
    if drop is not None:
        t = t * drop[:, :, None, None, None]
    return Projected(t.sum(1), energies)  # the sum of equation 1


def naive_coding_loss(
    energies: Float[Tensor, "batch branches"],
    labels: Int[Tensor, " batch"],
    words: Shaped[Tensor, "classes branches"],
    exponent: int = 4,
) -> Float[Tensor, ""]:
    """Equation 4, image by image and branch by branch."""
    num_branches = words.shape[1]
    total = energies.new_zeros(())
    for image, label in enumerate(labels.tolist()):
        rate = float(words[label].sum()) / num_branches
        for n in range(num_branches):
            distance = rate * energies[image, n] - float(words[label, n])
            total = total + distance.abs() ** exponent / num_branches
    return total / len(labels)


class NaiveProjection(CodedProjection):
    """A CodedProjection that computes what it computes in the naive way."""

    def forward(  # type: ignore[override]
        self,
        u: Float[Tensor, "batch channels height width"],
        keep: Shaped[Tensor, "*rows branches"] | None = None,
        drop: Float[Tensor, "batch branches"] | None = None,
    ) -> Projected:
        """Sum of the branches and their energies."""
        return naive_projection(
            u, self.weight, self.num_branches, keep=keep, drop=drop, kept=self.kept, normalise=self.normalise
        )


def use_naive_form(network: nn.Module) -> None:
    """Let every coded projection within compute in the naive way from now on, with the weights that it has."""
    for module in list(network.modules()):
        for name, layer in module.named_children():
            if isinstance(layer, CodedProjection):
                slow = NaiveProjection(
                    layer.in_channels,
                    layer.out_channels,
                    layer.num_branches,
                    kept=layer.kept,
                    normalise=layer.normalise,
                )
                slow.weight = layer.weight
                setattr(module, name, slow)
