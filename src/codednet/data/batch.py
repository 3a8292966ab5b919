"""What a loader gives: images ready for the network, their labels, and where they came from."""

from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor


class Batch(NamedTuple):
    """Images of one step, without those that could not be read."""

    images: Float[Tensor, "batch channels height width"]
    """Normalised, in channels_last memory."""
    labels: Int[Tensor, " batch"]
    """Class of each image."""
    indices: Int[Tensor, " batch"]
    """Place of each image in the data set, the same in every split and epoch."""
    unreadable: tuple[str, ...] = ()
    """Images that were left out, each with the reason."""
