"""The data for your own Lightning Trainer."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lightning.pytorch import LightningDataModule

from codednet.data.batch import Batch
from codednet.data.config import DataConfig
from codednet.data.loaders import EvalLoader, TrainLoader
from codednet.data.opening import Data, open_data


class DataModule(LightningDataModule):
    """Loaders of a data set for a Lightning Trainer: train; tune-fit for validation; test.

    Every process of the trainer gets `batch` images of its own at each step. A resumed training goes on with the very
    batch that would have come next.
    """

    def __init__(
        self, config: DataConfig | str = "fashion-mini", batch: int = 128, seed: int = 0, in_chans: int | None = None
    ) -> None:
        super().__init__()
        self.config = DataConfig(name=config) if isinstance(config, str) else config
        self.batch = batch
        self.seed = seed
        self.in_chans = in_chans

    @cached_property
    def data(self) -> Data:
        """The data set, opened when first asked for."""
        return open_data(self.config, self.in_chans)

    def prepare_data(self) -> None:
        """Download what is missing, on one process."""
        _ = self.data

    def train_dataloader(self) -> "ResumedLoader":
        """Augmented batches, from the trainer's epoch and batch on."""
        loader = self.data.train_loader(self.batch, seed=self.seed, **self._share())
        if self.trainer is not None:
            loader.start(*next_batch(self.trainer, len(loader)))
        return ResumedLoader(loader)

    def val_dataloader(self) -> EvalLoader | list[EvalLoader]:
        """The tune-fit split; nothing where there is no tune split."""
        if not self.config.has_tune:
            return []
        return self.data.eval_loader("tune-fit", self.batch, **self._share())

    def test_dataloader(self) -> EvalLoader:
        """The test split."""
        return self.data.eval_loader("test", self.batch, **self._share())

    def _share(self) -> dict[str, int]:
        if self.trainer is None:
            return {}
        return {"rank": self.trainer.global_rank, "world": self.trainer.world_size}


def next_batch(trainer: Any, batches: int) -> tuple[int, int]:
    """Epoch and batch at which a trainer goes on, by the progress of its loops, which it restores from a checkpoint."""
    epochs = trainer.fit_loop.epoch_progress.current
    epoch, done = epochs.processed, trainer.fit_loop.epoch_loop.batch_progress.current.processed
    if epochs.ready == epoch:
        return epoch, 0
    limit = trainer.limit_train_batches
    batches = min(batches, limit) if isinstance(limit, int) else int(batches * limit)
    return (epoch, done) if done < batches else (epoch + 1, 0)


@dataclass(frozen=True)
class ResumedLoader:
    """A train loader that Lightning takes for one that can resume; where, the progress of the trainer has told it."""

    loader: TrainLoader

    def __iter__(self) -> Iterator[Batch]:
        return iter(self.loader)

    def __len__(self) -> int:
        return len(self.loader)

    def state_dict(self) -> dict[str, Any]:
        """Nothing: a place in the loader would not know of the trainer's limits."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Nothing."""
