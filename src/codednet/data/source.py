"""Where images come from: in memory as one tensor, or one by one from files."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import UInt8
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from codednet.errors import CodednetError

_LARGEST = 2**30  # bytes of images that are resized once and kept, instead of whenever they are read


@runtime_checkable
class Source(Protocol):
    """All images of a data set, train and test, by their place."""

    @property
    def labels(self) -> NDArray[np.int64]:
        """Class of every image."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes, in the order of the labels."""

    def read(self, index: int, in_chans: int) -> Image.Image:
        """One image, grey for one channel, RGB for three."""

    def name(self, index: int) -> str:
        """What a message calls the image."""


@dataclass(frozen=True, eq=False)
class ArraySource:
    """Images of one size, in memory."""

    images: UInt8[Tensor, "images height width channels"]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]

    def read(self, index: int, in_chans: int) -> Image.Image:
        """One image, grey for one channel, RGB for three."""
        return _picture(self.images[index]).convert("L" if in_chans == 1 else "RGB")

    def name(self, index: int) -> str:
        """What a message calls the image."""
        return f"image {index}"

    @property
    def size(self) -> int:
        """Height, and width, of the images."""
        return self.images.shape[1]

    def with_channels(self, in_chans: int) -> "ArraySource":
        """The same images, grey where one channel is asked of colours; grey ones serve any number as they are."""
        if in_chans == 1 and self.images.shape[3] == 3:
            return ArraySource(grey(self.images), self.labels, self.classes)
        return self

    def resized(self, size: int) -> "ArraySource":
        """The same images at another size, or these where the result would not be small beside a machine's memory."""
        channels = self.images.shape[3]
        if size == self.size or len(self.images) * size * size * channels > _LARGEST:
            return self
        images = torch.empty(len(self.images), size, size, channels, dtype=torch.uint8)
        for old, new in zip(self.images, images.numpy(), strict=True):
            new[:] = np.asarray(_picture(old).resize((size, size), Image.Resampling.BICUBIC)).reshape(new.shape)
        return ArraySource(images, self.labels, self.classes)


def grey(images: UInt8[Tensor, "images height width 3"]) -> UInt8[Tensor, "images height width 1"]:
    """Brightness of colours, by the weights and the rounding of PIL (ITU-R 601)."""
    weights = torch.tensor([19595, 38470, 7471], dtype=torch.int32)
    # In parts, since the products need four bytes a channel.
    parts = [
        ((part * weights).sum(3, keepdim=True, dtype=torch.int32) + 0x8000) >> 16 for part in torch.split(images, 4096)
    ]
    return torch.cat([part.byte() for part in parts])


def _picture(pixels: UInt8[Tensor, "height width channels"]) -> Image.Image:
    return Image.fromarray(pixels.squeeze(2).numpy())


def check_channels(in_chans: int) -> None:
    """Refuse other images than grey and RGB."""
    if in_chans not in (1, 3):
        raise CodednetError(f"images come with in_chans=1 (grey) or in_chans=3 (RGB); got {in_chans}.")
