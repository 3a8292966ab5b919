"""What one step is remembered by: sums over its images, which add up over steps, processes and restarts."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from codednet.nn.decode import decode
from codednet.nn.words import Words


def score_names(coded_blocks: Sequence[str]) -> list[str]:
    """Names of the scores, the number of images first."""
    return [
        "images",
        "loss",
        "class_loss",
        "accuracy",
        *(f"coding/{name}" for name in coded_blocks),
        *(f"decoder/{name}" for name in coded_blocks),
    ]


@torch.no_grad()
def score_sums(
    loss: Tensor,
    class_loss: Tensor,
    coding: Tensor,
    logits: Tensor,
    energies: Sequence[Tensor],
    labels: Tensor,
    words: Sequence[Words],
) -> Tensor:
    """Sums over the images of a batch, in the order of `score_names`; losses are given as means."""
    images = torch.tensor(len(labels), dtype=torch.float32, device=logits.device)
    correct = (logits.argmax(1) == labels).sum()
    parts = [images, loss.detach() * images, class_loss.detach() * images, correct]
    sums = [torch.stack([part.float() for part in parts]), coding.detach().float() * images]
    if energies:
        sums.append((decode(energies, words) == labels).sum(1).float())
    return torch.cat(sums)


def means(names: Sequence[str], sums: Sequence[float]) -> dict[str, float]:
    """Mean of every score over the images, and their number."""
    images = sums[0]
    return {"images": images} | {
        name: total / images if images else float("nan") for name, total in zip(names[1:], sums[1:], strict=True)
    }


def added(rows: Sequence[Mapping[str, float]], names: Sequence[str]) -> list[float]:
    """Sums of rows of means."""
    images = sum(row["images"] for row in rows)
    return [images, *(sum(row[name] * row["images"] for row in rows) for name in names[1:])]
