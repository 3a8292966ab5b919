"""Some images of a split instead of all, where an experiment looks at each of them many times."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codednet.data import EvalLoader
from codednet.errors import CodednetError
from codednet.experiments.subject import Subject


@dataclass(frozen=True, kw_only=True)
class Sample:
    """How many images of the test split an experiment looked at."""

    images: int
    available: int
    """Images of the split."""
    seed: int
    """Of the draw, where there were more than were asked for."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing was left out."""
        return self.images == self.available


def sampled(subject: Subject, images: int, seed: int) -> tuple[EvalLoader, Sample]:
    """Batches of at most so many test images, every class with its share of them; 0 is all."""
    if images < 0:
        raise CodednetError(f"images must be 1 or more, or 0 for all; got {images}.")
    indices = subject.data.indices("test")
    taken = indices[stratified(subject.data.labels("test"), images or len(indices), seed)]
    loader = replace(subject.data, splits={"test": taken}).eval_loader("test", subject.batch)
    return loader, Sample(images=len(taken), available=len(indices), seed=seed)


def stratified(labels: ArrayLike, count: int, seed: int) -> NDArray[np.int64]:
    """Sorted places of so many of these labels, or of all; every class keeps its share, but for rounding.

    >>> labels = np.array([0, 0, 0, 0, 1, 1, 0, 0])
    >>> labels[stratified(labels, 4, seed=0)].tolist()
    [0, 0, 1, 0]
    """
    classes = np.asarray(labels)
    generator = np.random.default_rng(seed)
    shuffled = generator.permutation(len(classes))
    order = shuffled[np.argsort(classes[shuffled], kind="stable")]
    _, starts, counts = np.unique(classes[order], return_index=True, return_counts=True)
    rank = np.arange(len(order)) - np.repeat(starts, counts)
    # Every class is spread evenly over (0, 1), from a start of its own: those below any height are its share.
    height = (rank + np.repeat(generator.random(len(counts)), counts)) / np.repeat(counts, counts)
    return np.sort(order[np.argsort(height, kind="stable")[:count]])
