"""In which order an epoch shows the images, and which of them are whose: functions of seed, epoch and position."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codednet.data.draws import Stream, integers, sample_keys, uniform

Indices = NDArray[np.int64]


class Order(NamedTuple):
    """Images of an epoch in order, and for each how many times the epoch had it before."""

    indices: Indices
    turns: Indices | None


def shuffled(indices: Indices, seed: int, epoch: int) -> Order:
    """Every image once."""
    draws = uniform(sample_keys(seed, epoch, indices), Stream.ORDER)
    return Order(indices[np.argsort(draws, kind="stable")], None)


def balanced(indices: Indices, labels: NDArray[np.int64], seed: int, epoch: int) -> Order:
    """As many draws as there are images, with replacement: each draws a class, all alike, then one of its images.

    `labels` belong to `indices`.
    """
    by_class = np.argsort(labels, kind="stable")
    present, starts, counts = np.unique(labels[by_class], return_index=True, return_counts=True)
    keys = sample_keys(seed, epoch, np.arange(len(indices)))
    classes = integers(keys, Stream.CLASS, len(present))
    members = integers(keys, Stream.MEMBER, counts[classes])
    drawn = indices[by_class[starts[classes] + members]]
    return Order(drawn, _turns(drawn))


def share_of(order: Order, batch: int, number: int, rank: int, world: int) -> Order:
    """What one rank sees of global batch `number`: the rank-th of its `world` parts of `batch` images."""
    start = (number * world + rank) * batch
    part = slice(start, start + batch)
    return Order(order.indices[part], None if order.turns is None else order.turns[part])


def _turns(drawn: Indices) -> Indices:
    """For each place, how often its image came before."""
    by_image = np.argsort(drawn, kind="stable")
    images = drawn[by_image]
    first = np.concatenate([[True], images[1:] != images[:-1]])
    since = np.arange(len(drawn)) - np.maximum.accumulate(np.where(first, np.arange(len(drawn)), 0))
    turns = np.empty_like(drawn)
    turns[by_image] = since
    return turns
