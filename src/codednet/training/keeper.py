"""The keeper: checkpoints that survive a power cut, and the best network so far."""

import time
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO
from lightning.pytorch import Callback, LightningModule, Trainer

from codednet.atomic import write_whole
from codednet.models import save
from codednet.runs.folder import RunFolder
from codednet.training.recorder import Recorder
from codednet.training.task import CodedTask

# Steps between looks at the clock where processes have to agree on what it says.
STEPS_BETWEEN_LOOKS = 20


class WholeCheckpoints(TorchCheckpointIO):
    """Checkpoints written under another name, synced, then renamed; read without pickled code."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Write the checkpoint; on a full disk the one before it stays as it was."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda file: torch.save(checkpoint, file))

    def load_checkpoint(self, path: Any, map_location: Any = None, weights_only: bool | None = None) -> dict[str, Any]:
        """Read a checkpoint of tensors and plain values."""
        return super().load_checkpoint(path, map_location or _to_cpu, weights_only=True)


class Keeper(Callback):
    """Keeps checkpoints/last.ckpt (at the start, every N minutes, every epoch) and model/ (the network of the best)."""

    def __init__(self, folder: RunFolder, recorder: Recorder, minutes: float) -> None:
        self.folder = folder
        self.recorder = recorder
        self.minutes = minutes
        self.best = {"accuracy": -1.0, "loss": float("inf"), "epoch": -1}
        self._saved = 0.0

    def state_dict(self) -> dict[str, Any]:
        """The best epoch so far."""
        return {"best": dict(self.best)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from the best epoch so far."""
        self.best = dict(state_dict["best"])

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Make a run that is killed in its first epoch resumable."""
        self._saved = time.monotonic()
        if trainer.global_step == 0:
            self._save(trainer)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Save between two steps of the optimiser when it is time, or when the system asks the process to end."""
        if (batch_idx + 1) % trainer.accumulate_grad_batches == 0 and self._is_time(trainer):
            self._save(trainer)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save the network if it is the best, then the checkpoint."""
        assert isinstance(pl_module, CodedTask)
        if trainer.is_global_zero and self._improved(trainer):
            save(pl_module.evaluated, self.folder.model)
        self._save(trainer)

    def _improved(self, trainer: Trainer) -> bool:
        """Whether this epoch is the best on the tune split, by accuracy, then loss; without one, the last is."""
        metrics = trainer.callback_metrics
        now: dict[str, float] = {"epoch": trainer.current_epoch}
        if "tune/accuracy" in metrics:
            now |= {name: float(metrics[f"tune/{name}"]) for name in ("accuracy", "loss")}
            if (now["accuracy"], -now["loss"]) <= (self.best["accuracy"], -self.best["loss"]):
                return False
        self.best |= now
        return True

    def _is_time(self, trainer: Trainer) -> bool:
        if trainer.world_size > 1 and trainer.global_step % STEPS_BETWEEN_LOOKS:
            return False
        due = trainer.received_sigterm or time.monotonic() - self._saved > 60 * self.minutes
        return bool(trainer.strategy.reduce_boolean_decision(due, all=False)) if trainer.world_size > 1 else due

    def _save(self, trainer: Trainer) -> None:
        self.recorder.sync(trainer)  # stops at a loss that is no number, before it is saved
        trainer.save_checkpoint(self.folder.checkpoint)
        self._saved = time.monotonic()


def _to_cpu(storage: Any, _: str) -> Any:
    return storage
