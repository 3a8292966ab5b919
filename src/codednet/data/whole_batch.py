"""The quick way: images in memory, whole batches of bytes cropped, flipped and normalised at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

from codednet.data.batch import Batch
from codednet.data.draws import Stream, integers, sample_keys, uniform
from codednet.data.requests import Request
from codednet.data.source import ArraySource


@dataclass(frozen=True, eq=False)
class ArrayBatches:
    """Batches of images in memory; without pad and flip they are the images as they are."""

    source: ArraySource
    in_chans: int
    mean: Sequence[float]
    std: Sequence[float]
    pad: int = 0
    flip: bool = False
    seed: int = 0

    def read(self, request: Request) -> Batch:
        """The images asked for, augmented by draws that are theirs in that epoch."""
        indices = torch.from_numpy(request.indices)
        images = self.source.images.index_select(0, indices)
        if self.pad or self.flip:
            keys = sample_keys(self.seed, request.epoch, request.indices, request.turns)
        if self.pad:
            rows, columns = (integers(keys, s, 2 * self.pad + 1) for s in (Stream.ROW, Stream.COLUMN))
            images = pad_and_crop(images, torch.from_numpy(rows), torch.from_numpy(columns), self.pad)
        if self.flip:
            images = mirror(images, torch.from_numpy(uniform(keys, Stream.FLIP) < 0.5))
        labels = torch.from_numpy(self.source.labels[request.indices])
        return Batch(normalise(images, self.mean, self.std), labels, indices)


def pad_and_crop(
    images: UInt8[Tensor, "batch height width channels"],
    rows: Int[Tensor, " batch"],
    columns: Int[Tensor, " batch"],
    pad: int,
) -> UInt8[Tensor, "batch height width channels"]:
    """Windows of the images' size, cut from the images with `pad` black pixels around, from row and column on."""
    batch, height, width, channels = images.shape
    padded = torch.nn.functional.pad(images, (0, 0, pad, pad, pad, pad))
    high, wide = padded.shape[1:3]
    # A line of a window is a run of bytes: one gather of runs from the view of all that there are.
    run = width * channels
    runs = padded.view(-1).as_strided((padded.numel() - run + 1, run), (1, 1))
    corners = ((torch.arange(batch) * high + rows) * wide + columns) * channels
    lines = corners[:, None] + torch.arange(height) * (wide * channels)
    return runs.index_select(0, lines.view(-1)).view(images.shape)


def mirror(
    images: UInt8[Tensor, "batch height width channels"], which: Bool[Tensor, " batch"]
) -> UInt8[Tensor, "batch height width channels"]:
    """The images, those of `which` left to right."""
    batch = len(images)
    both = torch.cat([images, images.flip(2)])
    return both.index_select(0, torch.arange(batch) + batch * which)


def normalise(
    images: UInt8[Tensor, "batch height width some"], mean: Sequence[float], std: Sequence[float]
) -> Float[Tensor, "batch channels height width"]:
    """Bytes as numbers from 0 to 1, less the mean, by the deviation; grey images get a channel for each of the mean.

    In channels_last memory, with the rounding of torchvision's to_tensor and normalize.
    """
    batch, height, width, _ = images.shape
    channels = len(mean)
    pixels = images.expand(batch, height, width, channels).to(torch.float32, memory_format=torch.contiguous_format)
    # Line by line, as one long row of statistics is much faster than many of three numbers.
    lines = pixels.view(batch * height, width * channels)
    lines.div_(255).sub_(torch.tensor(mean).repeat(width)).div_(torch.tensor(std).repeat(width))
    return pixels.permute(0, 3, 1, 2)
