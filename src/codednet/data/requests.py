"""What a loader asks of a reader, in this process or in a worker: all that the images of a batch depend on."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from codednet.data.batch import Batch


class Request(NamedTuple):
    """Images of one batch."""

    epoch: int
    indices: NDArray[np.int64]
    turns: NDArray[np.int64] | None = None
    """How often the epoch had each image before; None is never."""


@runtime_checkable
class Reader(Protocol):
    """Makes batches; the same request gives the same batch, wherever and whenever."""

    def read(self, request: Request) -> Batch:
        """The images asked for, without those that cannot be read."""


class Requests:
    """What a torch DataLoader takes for its sampler: the requests to come, set before each iteration."""

    def __init__(self) -> None:
        self.coming: Iterator[Request] = iter(())

    def __iter__(self) -> Iterator[Request]:
        return self.coming


class Answers:
    """What a torch DataLoader takes for its data set: workers read what the requests ask for."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def __getitem__(self, request: Request) -> Batch:
        return self.reader.read(request)
