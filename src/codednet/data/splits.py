"""Which image is for training, which for tuning, which for the test: drawn class by class, fixed by a seed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from codednet.data.config import DataConfig
from codednet.data.draws import Stream, sample_keys, uniform
from codednet.errors import CodednetError

Indices = NDArray[np.int64]
SPLITS = ("train", "tune", "tune-fit", "tune-risk", "test")
_TEST_DRAW, _TUNE_DRAW = 1, 2  # stand where epochs stand in other draws, so that the two draws differ


def make_splits(
    train: Indices, test: Indices | None, labels: NDArray[np.int64], classes: Sequence[str], config: DataConfig
) -> dict[str, Indices]:
    """Sorted indices of each split. `train` and `test` are what the data set says; without a test, one is drawn.

    `tune` is cut into `tune-fit` and `tune-risk`, each with half of every class. `labels` are those of all images.
    """
    if test is None:
        counts = _share(labels[train], len(classes), config.test_share)
        _refuse_small(counts, labels[train], classes, "test")
        train, test = draw(train, labels, counts, config.split_seed, _TEST_DRAW)
    splits = {"train": np.sort(train), "test": np.sort(test)}
    if config.has_tune:
        counts = _tune_counts(labels[train], classes, config)
        rest, tune = draw(train, labels, counts, config.split_seed, _TUNE_DRAW)
        fit, risk = halves(tune, labels)
        splits |= {"train": rest, "tune": np.sort(tune), "tune-fit": fit, "tune-risk": risk}
    return splits


def draw(
    indices: Indices, labels: NDArray[np.int64], counts: NDArray[np.int64], seed: int, number: int
) -> tuple[Indices, Indices]:
    """What is left, sorted, and what is drawn, in drawn order: `counts[k]` images of class k."""
    order = indices[np.argsort(uniform(sample_keys(seed, number, indices), Stream.SPLIT), kind="stable")]
    taken = _rank_in_class(labels[order]) < counts[labels[order]]
    return np.sort(order[~taken]), order[taken]


def halves(indices: Indices, labels: NDArray[np.int64]) -> tuple[Indices, Indices]:
    """Two parts, sorted, that share every class evenly; odd images go to one and the other in turn."""
    by_class = indices[np.argsort(labels[indices], kind="stable")]
    return np.sort(by_class[::2]), np.sort(by_class[1::2])


def _rank_in_class(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    by_class = np.argsort(labels, kind="stable")
    _, starts, counts = np.unique(labels[by_class], return_index=True, return_counts=True)
    ranks = np.empty(len(labels), np.int64)
    ranks[by_class] = np.arange(len(labels)) - np.repeat(starts, counts)
    return ranks


def _share(labels: NDArray[np.int64], classes: int, share: float) -> NDArray[np.int64]:
    """Images of each class that make the share, at least one; a class of one image keeps it."""
    have = np.bincount(labels, minlength=classes)
    drawn: NDArray[np.int64] = np.rint(share * have).astype(np.int64)
    return np.minimum(np.maximum(drawn, 1), np.maximum(have - 1, 0))


def _tune_counts(labels: NDArray[np.int64], classes: Sequence[str], config: DataConfig) -> NDArray[np.int64]:
    if config.tune_per_class is None:
        return _share(labels, len(classes), config.tune)
    have = np.bincount(labels, minlength=len(classes))
    for name, count in zip(classes, have, strict=True):
        if count <= config.tune_per_class:
            raise CodednetError(
                f"tune_per_class={config.tune_per_class} leaves no image of class {name!r} to train on: it has "
                f"{count}. Use tune_per_class={max(0, count - 1)}, or a share with tune."
            )
    return np.full(len(classes), config.tune_per_class)


def _refuse_small(counts: NDArray[np.int64], labels: NDArray[np.int64], classes: Sequence[str], split: str) -> None:
    for name, count in zip(classes, counts, strict=True):
        if count == 0:
            raise CodednetError(
                f"class {name!r} needs 2 images, one to train on and one for the {split} split; it has 1. Add images, "
                "or leave the class out."
            )
