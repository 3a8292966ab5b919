"""What each coded block says by itself: accuracy by depth, and how far to trust an answer that so many blocks share."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from codednet.nn.decode import decode
from codednet.nn.words import Words


def accuracy_by_block(
    energies: Sequence[Float[Tensor, "images _"]], codes: Sequence[Words], labels: Int[Tensor, " images"]
) -> Float[Tensor, " blocks"]:
    """Share of images whose class the nearest word names, block by block."""
    return (decode(energies, codes) == labels).double().mean(1)


def agreements(
    predicted: Int[Tensor, " images"], energies: Sequence[Float[Tensor, "images _"]], codes: Sequence[Words]
) -> Bool[Tensor, "images blocks"]:
    """Whether each block's nearest word names the class that was predicted."""
    return (decode(energies, codes) == predicted).T.contiguous()


@dataclass(frozen=True, kw_only=True)
class AgreementRow:
    """Images of which the same number of early decoders agree with the prediction."""

    agreeing: int
    images: int
    accuracy: float | None
    """Of the prediction; None where there are no such images."""


@dataclass(frozen=True)
class AgreementTable:
    """Accuracy of the prediction given the number of early decoders that agree with it; a row for 0, 1, 2, ..."""

    rows: tuple[AgreementRow, ...]

    @property
    def accuracy(self) -> float:
        """Of all images."""
        images = sum(row.images for row in self.rows)
        return sum(row.images * row.accuracy for row in self.rows if row.accuracy is not None) / images

    def confidence(self, agree: Bool[Tensor, "images blocks"]) -> Float[Tensor, " images"]:
        """The table read as a confidence; the accuracy of all images stands where a row has none."""
        overall = self.accuracy
        values = [overall if row.accuracy is None else row.accuracy for row in self.rows]
        return torch.tensor(values, dtype=torch.float64)[agree.sum(1)]


def agreement_table(agree: Bool[Tensor, "images blocks"], right: Bool[Tensor, " images"]) -> AgreementTable:
    """Accuracy by the number of decoders that agree with the prediction.

    >>> agree = torch.tensor([[True, True], [True, False], [False, True]])
    >>> table = agreement_table(agree, torch.tensor([True, True, False]))
    >>> [(row.agreeing, row.images, row.accuracy) for row in table.rows]
    [(0, 0, None), (1, 2, 0.5), (2, 1, 1.0)]
    """
    agreeing, rows = agree.sum(1), agree.shape[1] + 1
    images = torch.bincount(agreeing, minlength=rows).tolist()
    rights = torch.bincount(agreeing[right], minlength=rows).tolist()
    return AgreementTable(
        tuple(
            AgreementRow(agreeing=number, images=count, accuracy=hits / count if count else None)
            for number, (count, hits) in enumerate(zip(images, rights, strict=True))
        )
    )
