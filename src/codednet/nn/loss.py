"""The coding loss, which teaches branches to work for their classes alone, and the whole training loss."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from codednet.errors import CodednetError
from codednet.nn.checks import checks_values
from codednet.nn.energy import sum_dtype
from codednet.nn.words import Words, check_blocks, words_for


@runtime_checkable
class HasEnergies(Protocol):
    """What one pass through a coded network gives, such as `model.trace(images)`."""

    @property
    def logits(self) -> Tensor:
        """(batch, classes)."""

    @property
    def energies(self) -> Sequence[Tensor]:
        """(batch, branches) of every coded block."""


def coding_loss(
    energies: Sequence[Float[Tensor, "batch _"]],
    labels: Int[Tensor, " labels"],
    codes: Sequence[Words],
    exponent: int = 4,
) -> Float[Tensor, " blocks"]:
    """Mean distance of every coded block's energies from the words of the labels, over the batch (equation 4).

    >>> energies = torch.tensor([[2.0, 0.0], [0.5, 1.5]])
    >>> coding_loss([energies], torch.tensor([0, 0]), [torch.eye(2)])
    tensor([0.1582])
    """
    check_blocks(len(energies), len(codes))
    if exponent < 1:
        raise CodednetError(f"the exponent of the coding loss must be at least 1 (the paper's is 4), got {exponent}.")
    runs: list[tuple[Words, list[Tensor]]] = []
    for found, code in zip(energies, codes, strict=True):
        if runs and runs[-1][0] is code and runs[-1][1][-1].shape == found.shape:
            runs[-1][1].append(found)
        else:
            runs.append((code, [found]))
    # Blocks of one code together: many small operations would cost more than what they compute.
    distances = [word_distance(torch.stack(found), labels, words_for(code, found[0]), exponent) for code, found in runs]
    return torch.cat(distances) if distances else torch.zeros(0, device=labels.device)


def word_distance(
    energies: Float[Tensor, "blocks batch branches"],
    labels: Int[Tensor, " labels"],
    words: Float[Tensor, "classes branches"],
    exponent: int,
) -> Float[Tensor, " blocks"]:
    """Mean over images and branches of |rate * energy - word of the label| to the power of `exponent`."""
    check_labels(labels, energies.shape[1], words.shape[0])
    wanted = words[labels.long()]
    rate = wanted.mean(1, keepdim=True)
    return (rate * energies - wanted).abs().pow(exponent).mean((1, 2))


def total_loss(
    outputs: HasEnergies | tuple[Tensor, Sequence[Tensor]],
    labels: Int[Tensor, " labels"],
    codes: Sequence[Words],
    mu: float,
    *,
    exponent: int = 4,
    label_smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Cross entropy plus `mu` times the sum of the blocks' coding losses (equation 5).

    `outputs` is what `model.trace(images)` gives, or a pair of logits and energies.
    """
    logits, energies = outputs if isinstance(outputs, tuple) and len(outputs) == 2 else _parts(outputs)
    check_labels(labels, logits.shape[0], logits.shape[1])
    cross_entropy = F.cross_entropy(logits.to(sum_dtype(logits.dtype)), labels.long(), label_smoothing=label_smoothing)
    return cross_entropy + mu * coding_loss(energies, labels, codes, exponent).sum()


def check_labels(labels: Tensor, batch: int, classes: int) -> None:
    """Refuse labels that name no class, as far as they may be looked at."""
    if labels.shape != (batch,) or labels.is_floating_point():
        raise CodednetError(
            f"labels must be whole numbers of shape ({batch},), one an image; got {labels.dtype} of shape "
            f"{tuple(labels.shape)}."
        )
    if checks_values(labels) and bool(((labels < 0) | (labels >= classes)).any()):
        raise CodednetError(
            f"labels must lie in 0..{classes - 1}, for {classes} classes; got {int(labels.min())}..{int(labels.max())}."
        )


def _parts(outputs: HasEnergies) -> tuple[Tensor, Sequence[Tensor]]:
    return outputs.logits, outputs.energies
