"""A data set opened: its classes, its splits, and the loaders of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from codednet.data.augment import training_transform
from codednet.data.catalogue import ENTRIES, find
from codednet.data.config import DataConfig
from codednet.data.evaluation import evaluation_transform, over_channels
from codednet.data.loaders import EvalLoader, TrainLoader, choose_workers
from codednet.data.one_by_one import ImageBatches
from codednet.data.order import Indices, Order, balanced, shuffled
from codednet.data.requests import Reader
from codednet.data.source import ArraySource, Source, check_channels
from codednet.data.splits import SPLITS, make_splits
from codednet.data.whole_batch import ArrayBatches
from codednet.errors import CodednetError, nearest_name


@dataclass(frozen=True, kw_only=True, eq=False)
class Data:
    """An open data set."""

    config: DataConfig
    classes: tuple[str, ...]
    """Names of the classes, in the order of the labels."""
    in_chans: int
    """Channels of the images."""
    image_size: int
    """Height and width for training."""
    mean: tuple[float, ...]
    """Mean of the channels."""
    std: tuple[float, ...]
    """Standard deviation of the channels."""
    splits: Mapping[str, Indices]
    """Sorted places of the images of each split that there is."""
    source: Source
    """The images."""

    def indices(self, split: str) -> Indices:
        """Sorted places of the images of a split."""
        if split not in SPLITS:
            raise CodednetError(f"no split is called {split!r}: {nearest_name(split, SPLITS)}")
        if split not in self.splits:
            raise CodednetError(
                f"there is no split {split!r}, since tune=0 trains on everything. Use tune=0.1 or tune_per_class=10 "
                "for one."
            )
        return self.splits[split]

    def labels(self, split: str) -> NDArray[np.int64]:
        """Classes of the images of a split."""
        return self.source.labels[self.indices(split)]

    def preprocessing(self) -> dict[str, Any]:
        """Preprocessing in timm's pretrained_cfg form: what an image must go through before the network."""
        size = (self.in_chans, self.image_size, self.image_size)
        cfg: dict[str, Any] = {
            "input_size": size,
            "mean": self.mean,
            "std": self.std,
            "crop_pct": self.config.test_crop,
            "crop_mode": "center",
            "interpolation": "bicubic",
        }
        if self._test_size != self.image_size:
            cfg["test_input_size"] = (self.in_chans, self._test_size, self._test_size)
        return cfg

    def class_weights(self) -> Tensor | None:
        """Weight of each class in the loss, their mean over the training images 1; None unless balance=weights."""
        if self.config.balance != "weights":
            return None
        counts = np.bincount(self.labels("train"), minlength=len(self.classes))
        return torch.from_numpy(counts.sum() / (len(counts) * counts)).float()

    def train_loader(self, batch: int, *, seed: int, rank: int = 0, world: int = 1) -> TrainLoader:
        """Augmented batches of `batch` images for one of `world` processes."""
        indices = self.indices("train")
        if not len(indices):
            raise CodednetError(f"{self.config.name} has test images alone: train on another data set.")
        reader = self._training_reader(seed)

        def order(epoch: int) -> Order:
            if self.config.balance == "sampler":
                return balanced(indices, self.source.labels[indices], seed, epoch)
            return shuffled(indices, seed, epoch)

        return TrainLoader(reader, order, len(indices), batch=batch, rank=rank, world=world, **self._reading(reader))

    def eval_loader(self, split: str, batch: int, *, rank: int = 0, world: int = 1) -> EvalLoader:
        """Batches of a split as evaluation sees it, each image once."""
        reader = self._evaluation_reader()
        return EvalLoader(reader, self.indices(split), batch=batch, rank=rank, world=world, **self._reading(reader))

    @property
    def _test_size(self) -> int:
        return self.config.test_size or self.image_size

    def _reading(self, reader: Reader) -> dict[str, int]:
        workers = self.config.workers
        if isinstance(reader, ArrayBatches):
            workers = 0
        return {
            "workers": choose_workers() if workers is None else workers,
            "max_unreadable": self.config.max_unreadable,
        }

    def _training_reader(self, seed: int) -> Reader:
        config, source = self.config, self.source
        as_they_are = isinstance(source, ArraySource) and source.size == self.image_size
        if as_they_are and config.crop != "resized" and not config.randaugment and not config.erase:
            assert isinstance(source, ArraySource)
            pad = config.pad if config.crop == "pad" else 0
            return ArrayBatches(source, self.in_chans, self.mean, self.std, pad, config.flip, seed)
        transform = training_transform(config, self.image_size, self.mean, self.std)
        return ImageBatches(source, self.in_chans, self.image_size, transform, seed)

    def _evaluation_reader(self) -> Reader:
        source = self.source
        if isinstance(source, ArraySource) and source.size == self._test_size and self.config.test_crop == 1:
            return ArrayBatches(source, self.in_chans, self.mean, self.std)
        transform = evaluation_transform(self.preprocessing(), self.in_chans)
        return ImageBatches(source, self.in_chans, self._test_size, transform)


def open_data(config: DataConfig, in_chans: int | None = None) -> Data:
    """The data set that the config names, in grey (in_chans=1), in colours (3), or as it is (None)."""
    entry = ENTRIES[config.name]
    channels = entry.in_chans if in_chans is None else in_chans
    check_channels(channels)
    found = find(config)
    image_size = config.image_size or entry.size
    source = found.source
    if isinstance(source, ArraySource):
        source = source.with_channels(channels)
        if config.crop != "resized" and config.test_size in (None, image_size) and config.test_crop == 1:
            source = source.resized(image_size)
    return Data(
        config=config,
        classes=source.classes,
        in_chans=channels,
        image_size=image_size,
        mean=_statistics(config.mean, entry.mean, channels),
        std=_statistics(config.std, entry.std, channels),
        splits=make_splits(found.train, found.test, source.labels, source.classes, config),
        source=source,
    )


def _statistics(given: tuple[float, ...] | None, own: tuple[float, ...], in_chans: int) -> tuple[float, ...]:
    if given is None:
        return over_channels(own, in_chans)
    if len(given) not in (1, in_chans):
        raise CodednetError(
            f"mean and std need a number for each of the {in_chans} channels, or one for all; got {len(given)}."
        )
    return over_channels(given, in_chans)
