"""Code words as tensors: what the loss and the decoder compare energies with."""

from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from codednet.errors import CodednetError


@runtime_checkable
class HasWords(Protocol):
    """A table of 0/1 words, a row a class, such as `codednet.Code`."""

    @property
    def words(self) -> NDArray[np.uint8]:
        """(classes, branches)."""


Words: TypeAlias = Tensor | HasWords


def words_for(code: Words, energies: Float[Tensor, "batch branches"]) -> Float[Tensor, "classes branches"]:
    """The words of a code in the type and on the device of the energies that they will meet."""
    words = code if isinstance(code, Tensor) else torch.tensor(code.words)
    if words.dim() != 2 or words.shape[1] != energies.shape[1]:
        raise CodednetError(
            f"a code must have as many branches as the block that it describes: the energies have {energies.shape[1]} "
            f"columns, the words are {tuple(words.shape)} (classes, branches)."
        )
    return words.to(device=energies.device, dtype=energies.dtype)


def check_blocks(blocks: int, codes: int) -> None:
    """Refuse a list of codes that does not match the list of energies."""
    if blocks != codes:
        raise CodednetError(f"there must be one code for each coded block: {blocks} rows of energies, {codes} codes.")
