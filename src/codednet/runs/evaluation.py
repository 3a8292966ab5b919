"""How often a network is right: overall, class by class, block by block."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from codednet.models import CodedResNeXt
from codednet.nn.decode import decode
from codednet.runs.collect import Collected


@dataclass(frozen=True, kw_only=True)
class ClassAccuracy:
    """One class."""

    name: str
    images: int
    accuracy: float | None
    """Share of its images that are named rightly; None without images."""
    taken_for: str | None
    """Class that most of the others are taken for."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What a split says of a network."""

    split: str
    images: int
    unreadable: int
    accuracy: float
    top5: float | None
    """Share of images whose class is among the five largest logits; None with five classes or fewer."""
    decoders: dict[str, float]
    """Accuracy of the early decoder of every coded block."""
    classes: tuple[ClassAccuracy, ...]
    confusion: list[list[int]]
    """Images by class, a row each, and by prediction, a column each."""


def evaluate(model: CodedResNeXt, collected: Collected, names: Sequence[str], split: str) -> Evaluation:
    """Accuracies of one pass over a split."""
    logits, labels = collected.logits, collected.labels
    predicted = logits.argmax(1)
    confusion = confusions(labels, predicted, len(names))
    decoders = {}
    if collected.energies:
        right = (decode(collected.energies, model.codes) == labels).double().mean(1)
        decoders = dict(zip(model.coded_blocks, right.tolist(), strict=True))
    top5 = None
    if len(names) > 5:
        top5 = float((logits.topk(5).indices == labels[:, None]).any(1).double().mean())
    return Evaluation(
        split=split,
        images=len(labels),
        unreadable=len(collected.unreadable),
        accuracy=float((predicted == labels).double().mean()),
        top5=top5,
        decoders=decoders,
        classes=tuple(_class(confusion, index, names) for index in range(len(names))),
        confusion=confusion.tolist(),
    )


def confusions(
    labels: Int[Tensor, " images"], predicted: Int[Tensor, " images"], classes: int
) -> Int[Tensor, "classes classes"]:
    """Images by class (rows) and prediction (columns).

    >>> confusions(torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1]), 2)
    tensor([[1, 1],
            [0, 1]])
    """
    return torch.bincount(labels * classes + predicted, minlength=classes**2).view(classes, classes)


def _class(confusion: Tensor, index: int, names: Sequence[str]) -> ClassAccuracy:
    row = confusion[index].clone()
    images, right = int(row.sum()), int(row[index])
    row[index] = 0
    return ClassAccuracy(
        name=names[index],
        images=images,
        accuracy=right / images if images else None,
        taken_for=names[int(row.argmax())] if int(row.max()) else None,
    )
