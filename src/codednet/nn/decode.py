"""Reading labels off branch energies: the early decoders."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from codednet.errors import CodednetError
from codednet.nn.energy import exactly
from codednet.nn.words import Words, check_blocks, words_for


def nearest_codeword(
    energies: Float[Tensor, "batch branches"], words: Float[Tensor, "classes branches"]
) -> Int[Tensor, " batch"]:
    """Label whose codeword lies nearest to each image's branch energies; ties go to the lowest label.

    >>> nearest_codeword(torch.tensor([[0.2, 1.8, 1.0]]), torch.tensor([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    tensor([1])
    """
    # Words weigh the same, so the nearest is the one with the largest inner product.
    with exactly(energies):
        return (energies @ words.mT).argmax(dim=1)


def decode(energies: Sequence[Float[Tensor, "batch _"]], codes: Sequence[Words]) -> Int[Tensor, "blocks batch"]:
    """Labels that every coded block's energies point at, block by block."""
    check_blocks(len(energies), len(codes))
    if not energies:
        raise CodednetError("a network without coded blocks has no early decoders: all its rates are 1.")
    labels = [nearest_codeword(found, words_for(code, found)) for found, code in zip(energies, codes, strict=True)]
    return torch.stack(labels)
