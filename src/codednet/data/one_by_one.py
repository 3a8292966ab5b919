"""The general way: images read and transformed one by one, each with random streams of its own."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from codednet.data.batch import Batch
from codednet.data.draws import Stream, bits, sample_keys
from codednet.data.reading import UnreadableImage
from codednet.data.requests import Request
from codednet.data.source import Source


@dataclass(frozen=True, eq=False)
class ImageBatches:
    """Batches of images from any source, through a transform of PIL images to normalised tensors."""

    source: Source
    in_chans: int
    size: int
    transform: Callable[[Image.Image], Tensor]
    seed: int = 0

    def read(self, request: Request) -> Batch:
        """The images asked for that can be read."""
        keys = bits(sample_keys(self.seed, request.epoch, request.indices, request.turns), Stream.IMAGE)
        count = len(request.indices)
        images = torch.empty(count, self.in_chans, self.size, self.size, memory_format=torch.channels_last)
        places: list[int] = []
        unreadable: list[str] = []
        with own_randomness():
            for index, key in zip(request.indices.tolist(), keys.tolist(), strict=True):
                try:
                    image = self.source.read(index, self.in_chans)
                except UnreadableImage as error:
                    unreadable.append(f"{self.source.name(index)} ({error.why})")
                    continue
                seed_everything(key)
                images[len(places)] = self.transform(image)
                places.append(index)
        indices = np.array(places, np.int64)
        return Batch(
            images[: len(places)],
            torch.from_numpy(self.source.labels[indices]),
            torch.from_numpy(indices),
            tuple(unreadable),
        )


@contextmanager
def own_randomness() -> Iterator[None]:
    """Inside, the global random streams may be seeded and used; afterwards they are as they were before."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
        torch.set_rng_state(states[2])


def seed_everything(key: int) -> None:
    """Seed the global streams that transforms draw from: Python's, NumPy's and torch's on the CPU."""
    random.seed(key)
    np.random.seed(key & 0xFFFFFFFF)  # noqa: NPY002
    # Not torch.manual_seed, which also reseeds the accelerators.
    torch.default_generator.manual_seed(key >> 1)
