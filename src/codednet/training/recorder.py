"""The recorder: metrics of every step and epoch, to CSV and Lightning's loggers; a loss that is no number stops it."""

import math
import resource
import sys
import time
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from codednet.errors import CodednetError
from codednet.runs.folder import RunFolder
from codednet.training.records import Record
from codednet.training.scores import added, means

# Steps whose scores may wait on an accelerator, which would have to stop for each.
STEPS_AT_ONCE = 50
EPOCH_COLUMNS = ("images_a_second", "waiting_share", "peak_memory_mb", "seconds")


class Recorder(Callback):
    """Writes metrics.csv and epochs.csv. What a step was is written before a checkpoint that includes it."""

    def __init__(self, folder: RunFolder, names: list[str], resumed: bool) -> None:
        self.folder = folder
        self.names = names
        self._resumed = resumed
        self._steps = Record(folder.metrics_file, ["step", "epoch", "rate", *names])
        tuned = [f"tune/{name}" for name in names if name != "images"]
        trained = [f"train/{name}" for name in names]
        self._epochs = Record(folder.epochs_file, ["epoch", *trained, *tuned, *EPOCH_COLUMNS])
        self._waiting: list[tuple[int, int, float, list[Tensor]]] = []
        self._parts: list[Tensor] = []
        self._rows: list[dict[str, float]] = []
        self._started = self._waited = self._paused = 0.0
        self._images = 0
        self._rate = 0.0
        self.last_epoch: dict[str, float] = {}

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Cut the records back to where training goes on."""
        step, epoch = trainer.global_step, trainer.current_epoch
        if trainer.is_global_zero:
            kept = self._steps.open(step if self._resumed else 0)
            self._rows = [row for row in kept if row["epoch"] == epoch]
            self._epochs.open(epoch if self._resumed else 0, "epoch")

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start the clocks."""
        self._started, self._images, self._paused = time.perf_counter(), 0, 0.0
        self._loader(trainer).seconds_waited = 0.0
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        """Remember the step's learning rate."""
        self._rate = pl_module.rate  # type: ignore[assignment]

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Remember what the batch was; write when there is enough, or when it costs nothing."""
        self._images += len(batch[1]) * trainer.world_size
        self._parts.append(outputs["sums"])
        done = (batch_idx + 1) % trainer.accumulate_grad_batches == 0
        if not done and batch_idx + 1 < trainer.num_training_batches:
            return
        self._waiting.append((trainer.global_step - 1, trainer.current_epoch, self._rate, self._parts))
        self._parts = []
        if len(self._waiting) >= STEPS_AT_ONCE or pl_module.device.type == "cpu":
            self.write(trainer)

    def write(self, trainer: Trainer) -> None:
        """Write the steps that wait; every process takes part, since their sums are added up."""
        if not self._waiting:
            return
        sums = torch.stack([torch.stack(parts).sum(0) for *_, parts in self._waiting]).double()
        if trainer.world_size > 1:
            torch.distributed.all_reduce(sums)
        steps, self._waiting = self._waiting, []
        for (step, epoch, rate, _), row_sums in zip(steps, sums.tolist(), strict=True):
            row = {"step": step, "epoch": epoch, "rate": rate, **means(self.names, row_sums)}
            if trainer.is_global_zero:
                self._steps.add(row)
                self._rows.append(row)
            if not math.isfinite(row["loss"]):
                self._stop(row)
            if step % STEPS_AT_ONCE == 0:
                shown = {name: row[name] for name in ("loss", "class_loss", "accuracy")}
                self._log(trainer, {f"step/{name}": value for name, value in shown.items()} | {"rate": rate}, step)

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Stop the clock of the training."""
        self._paused -= time.perf_counter()

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Let the clock of the training run on."""
        self._paused += time.perf_counter()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the epoch: its means, what came before a restart included, the tune split, and the speed."""
        self.write(trainer)
        seconds = time.perf_counter() - self._started - self._paused
        if not trainer.is_global_zero:
            return
        trained = means(self.names, added(self._rows, self.names))
        tuned = {name: float(value) for name, value in trainer.callback_metrics.items() if name.startswith("tune/")}
        self.last_epoch = {f"train/{name}": value for name, value in trained.items()} | tuned
        self.last_epoch |= {
            "images_a_second": self._images / seconds,
            "waiting_share": self._loader(trainer).seconds_waited / seconds,
            "peak_memory_mb": _peak_memory() / 1e6,
            "seconds": seconds,
        }
        self._epochs.add({"epoch": trainer.current_epoch, **self.last_epoch})
        self._log(trainer, self.last_epoch, trainer.global_step - 1)
        self._rows = []

    def sync(self, trainer: Trainer) -> None:
        """Bring everything that is known to the disk."""
        self.write(trainer)
        self._steps.sync()
        self._epochs.sync()

    def close(self) -> None:
        """Let the files go."""
        self._steps.close()
        self._epochs.close()

    def _loader(self, trainer: Trainer) -> Any:
        return trainer.train_dataloader.loader  # type: ignore[union-attr]

    def _log(self, trainer: Trainer, values: dict[str, float], step: int) -> None:
        if trainer.is_global_zero:
            for logger in trainer.loggers:
                logger.log_metrics(values, step)

    def _stop(self, row: dict[str, float]) -> None:
        self._steps.sync()
        checkpoint = self.folder.checkpoint
        good = f"the last good checkpoint is '{checkpoint}'" if checkpoint.exists() else "there is no checkpoint yet"
        raise CodednetError(
            f"the loss became {row['loss']} at step {int(row['step'])} of epoch {int(row['epoch'])}, at a learning "
            f"rate of {row['rate']:g}; {good}. Train with a smaller optim.learning_rate, a longer optim.warmup_epochs, "
            "or optim.clip=1."
        )


def _peak_memory() -> float:
    """Most bytes held: on the GPU where there is one, else by the process."""
    if torch.cuda.is_available():
        return float(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
