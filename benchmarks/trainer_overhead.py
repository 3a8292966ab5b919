"""Speed of `codednet train` beside a bare loop over synthetic batches of the same network, in one process.

    uv run python benchmarks/trainer_overhead.py [--recipe fashion-mini] [--epochs 6] [--json]

The training is the command's own: real images read and augmented, metrics of every step written, checkpoints,
TensorBoard. The bare loop runs before each of its epochs, so that both see the same machine. The ratio is the median
over the epochs, the first left out; at least 0.93. Run it on an otherwise idle machine.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer

import codednet
from codednet.training import load_recipe, train
from codednet.training.records import read_rows

LEAST = 0.93


class BareLoop(Callback):
    """Between two epochs of the training, steps of another network of the same shape on one synthetic batch."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.speeds: list[float] = []
        self.model: Any = None

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.model is None:
            self.prepare(trainer, pl_module)
        started = time.perf_counter()
        for _ in range(self.steps):
            self.step(trainer)
        self.speeds.append(self.steps * len(self.images) / (time.perf_counter() - started))

    def prepare(self, trainer: Trainer, task: Any) -> None:
        network = task.model.config
        self.model = type(task.model)(network).train().to(memory_format=torch.channels_last)
        size = task.model.pretrained_cfg["input_size"][1:]
        batch = trainer.datamodule.batch
        self.images = torch.randn(batch, network.in_chans, *size).to(memory_format=torch.channels_last)
        self.labels = torch.arange(batch) % network.num_classes
        self.mu, optim = task.coding.mu, task.optim
        self.optimizer = torch.optim.SGD(
            self.model.parameters(),
            lr=optim.learning_rate,
            momentum=optim.momentum,
            nesterov=optim.nesterov,
            weight_decay=optim.weight_decay,
        )

    def step(self, trainer: Trainer) -> None:
        with torch.enable_grad():
            self.optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=trainer.precision == "bf16-mixed"):
                trace = self.model.trace(self.images)
                loss = codednet.total_loss(trace, self.labels, self.model.codes, mu=self.mu)
            loss.backward()
            self.optimizer.step()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="fashion-mini")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--steps", type=int, default=80, help="steps of the bare loop before every epoch")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    recipe = load_recipe(options.recipe)
    config = replace(recipe, optim=replace(recipe.optim, epochs=options.epochs))
    bare = BareLoop(options.steps)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        train(config, path, callbacks=[bare], say=lambda text: print(text, file=sys.stderr))
        trained = [row["images_a_second"] for row in read_rows(path / "epochs.csv")]
    ratios = [one / other for one, other in zip(trained, bare.speeds, strict=True)][1:]
    found = {
        "recipe": options.recipe,
        "trained_images_a_second": statistics.median(trained[1:]),
        "bare_images_a_second": statistics.median(bare.speeds[1:]),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
    }
    print(json.dumps(found) if options.json else report(found))
    return int(found["ratio"] < LEAST)


def report(found: dict) -> str:
    low, high = min(found["ratios"]), max(found["ratios"])
    return (
        f"{found['recipe']}: {found['trained_images_a_second']:.0f} images a second by the command, "
        f"{found['bare_images_a_second']:.0f} by a bare loop: {found['ratio']:.3f} ({low:.3f} to {high:.3f}; "
        f"at least {LEAST})"
    )


if __name__ == "__main__":
    sys.exit(main())
