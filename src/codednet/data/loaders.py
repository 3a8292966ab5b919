"""Loaders: batches in an order that is a function of seed and epoch, from readers in this process or in workers."""

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from codednet.data.batch import Batch
from codednet.data.order import Indices, Order, share_of
from codednet.data.requests import Answers, Reader, Request, Requests
from codednet.errors import CodednetError


class _Loader:
    """Answers requests in order, counts unreadable images and the time that a caller waited."""

    def __init__(self, reader: Reader, workers: int, max_unreadable: int) -> None:
        self.seconds_waited = 0.0
        """Time spent in fetching batches; set it to 0 to start anew."""
        self.unreadable: set[str] = set()
        """Images that could not be read, each with the reason."""
        self.workers = workers
        """Processes that read; 0 is this one."""
        self._max_unreadable = max_unreadable
        self._reader = reader
        self._requests = Requests()
        self._loader = _with_workers(self._requests, reader, workers) if workers else None

    def _answer(self, requests: Iterator[Request]) -> Iterator[Batch]:
        started = time.perf_counter()
        batches: Iterator[Batch] = map(self._reader.read, requests)
        if self._loader is not None:
            self._requests.coming = requests
            # Pinning of memory makes lists of tuples.
            batches = (batch._replace(unreadable=tuple(batch.unreadable)) for batch in self._loader)
        while (batch := next(batches, None)) is not None:
            self.seconds_waited += time.perf_counter() - started
            self._check(batch)
            yield batch
            started = time.perf_counter()

    def _check(self, batch: Batch) -> None:
        if not batch.unreadable:
            return
        self.unreadable.update(batch.unreadable)
        names = sorted(self.unreadable)
        first = "; ".join(names[:5]) + ("; ..." if len(names) > 5 else "")
        if len(names) > self._max_unreadable:
            raise CodednetError(
                f"at most {self._max_unreadable} images may be unreadable, {len(names)} are: {first}. Repair or remove "
                "them, or raise max_unreadable."
            )
        if not len(batch.labels):
            raise CodednetError(
                f"a batch needs an image that can be read, and all {len(batch.unreadable)} of one batch are "
                f"unreadable: {first}. Repair or remove them."
            )


class TrainLoader(_Loader):
    """Batches of whole epochs, endlessly many epochs: each iteration is the next, from where `start` said on.

    All ranks have equally many batches of `batch` images; the images that are left over sit out the epoch. Unreadable
    images make a batch smaller.
    """

    def __init__(
        self,
        reader: Reader,
        order: Callable[[int], Order],
        images: int,
        *,
        batch: int,
        rank: int = 0,
        world: int = 1,
        workers: int = 0,
        max_unreadable: int = 10,
    ) -> None:
        super().__init__(reader, workers, max_unreadable)
        _check_share(batch, rank, world)
        self._order, self._batch, self._rank, self._world = order, batch, rank, world
        self._batches = images // (batch * world)
        self._epoch = self._first = 0
        if not self._batches:
            raise CodednetError(
                f"a step needs {batch * world} training images ({batch} on each of {world} processes); there are "
                f"{images}. Use a batch of {max(1, images // world)} or fewer."
            )

    def start(self, epoch: int, batch: int = 0) -> None:
        """Say where the next iteration begins; those after it are the epochs that follow, from their start."""
        if epoch < 0 or not 0 <= batch <= self._batches:
            raise CodednetError(f"an epoch has batches 0 to {self._batches}; got batch {batch} of epoch {epoch}.")
        self._epoch, self._first = epoch, batch

    @property
    def epoch(self) -> int:
        """Epoch of the iteration to come."""
        return self._epoch

    @property
    def remaining(self) -> int:
        """Batches of the iteration to come."""
        return self._batches - self._first

    def __len__(self) -> int:
        """Batches of a whole epoch."""
        return self._batches

    def __iter__(self) -> Iterator[Batch]:
        # Nothing happens before the first batch is asked for, so an iterator made early still heeds `start`.
        epoch, first = self._epoch, self._first
        self.start(epoch + 1)
        yield from self._answer(self._epoch_requests(epoch, first))

    def _epoch_requests(self, epoch: int, first: int) -> Iterator[Request]:
        order = self._order(epoch)
        for number in range(first, self._batches):
            yield Request(epoch, *share_of(order, self._batch, number, self._rank, self._world))


class EvalLoader(_Loader):
    """Batches of a split, each image once, in order; the last may be smaller. Ranks take the images in turn."""

    def __init__(
        self,
        reader: Reader,
        indices: Indices,
        *,
        batch: int,
        rank: int = 0,
        world: int = 1,
        workers: int = 0,
        max_unreadable: int = 10,
    ) -> None:
        super().__init__(reader, workers, max_unreadable)
        _check_share(batch, rank, world)
        self._indices, self._batch = indices[rank::world], batch

    def __len__(self) -> int:
        return -(-len(self._indices) // self._batch)

    def __iter__(self) -> Iterator[Batch]:
        starts = range(0, len(self._indices), self._batch)
        return self._answer(Request(0, self._indices[start : start + self._batch]) for start in starts)


def choose_workers() -> int:
    """As many readers as this process has cores to spare: most are the network's where it runs on them too."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cores //= int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return int(np.clip(cores if torch.cuda.is_available() else cores // 2, 1, 8))


def _with_workers(requests: Requests, reader: Reader, workers: int) -> DataLoader[Batch]:
    return DataLoader(
        Answers(reader),  # type: ignore[arg-type]
        sampler=requests,
        batch_size=None,
        num_workers=workers,
        collate_fn=_as_it_is,
        persistent_workers=True,
        pin_memory=torch.cuda.is_available(),
        # A DataLoader draws a seed for its workers, from the stream of the training unless it has its own.
        generator=torch.Generator(),
    )


def _as_it_is(batch: Any) -> Any:
    return batch


def _check_share(batch: int, rank: int, world: int) -> None:
    if batch < 1 or not 0 <= rank < world:
        raise CodednetError(
            f"a batch has 1 image or more, and rank is one of 0 to world - 1; got batch={batch}, rank={rank}, "
            f"world={world}."
        )
