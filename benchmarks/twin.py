"""The plain twin of `coded_resnext50_32x4d` against timm's own `resnext50_32x4d`: training steps and inference.

    uv run python benchmarks/twin.py [--rounds 21] [--batch 16] [--precisions float32 bf16] [--threads 2] [--device cpu]

Ratios against the twin flatter nobody as long as it is as fast as timm's. Run it on an otherwise idle machine: both are
timed in turn in one process, and a ratio whose rounds disagree is refused, not printed. Exit status 1 if the promise is
not kept.
"""

import argparse
import sys
from collections.abc import Callable

import timm
import torch
from torch import nn

from codednet import create_model
from codednet.measure import Comparison, compare, inference, training_step

# The twin may take this many times as long as timm's.
LIMIT = 1.02


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--size", type=int, default=160)
    parser.add_argument("--precisions", nargs="+", default=["float32", "bf16"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--limit", type=float, default=0.05, help="widest spread of a ratio that is shown")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    kept = True
    for precision in options.precisions:
        for what, step in (("training", _training), ("inference", _inference)):
            found = _measured(what, step, precision, options)
            kept &= found.is_steady and found.ratio <= LIMIT
            print(f"{precision:8} {what:10} batch {options.batch}: {found}", flush=True)
    print(f"the twin takes at most {LIMIT} times as long as timm's: {'kept' if kept else 'NOT KEPT'}")
    return 0 if kept else 1


def _measured(what: str, step: Callable, precision: str, options: argparse.Namespace) -> Comparison:
    theirs, ours = timm.create_model("resnext50_32x4d"), create_model("resnext50_32x4d")
    images = torch.randn(options.batch, 3, options.size, options.size, device=options.device)
    images = images.to(memory_format=torch.channels_last)
    calls = [
        step(model.to(options.device, memory_format=torch.channels_last), images, precision == "bf16")
        for model in (theirs, ours)
    ]
    (found,) = compare(
        calls[0], {what: calls[1]}, rounds=options.rounds, warmup=1, limit=options.limit, device=images.device
    )
    return found


def _loss(model: nn.Module, images: torch.Tensor) -> torch.Tensor:
    labels = torch.arange(len(images), device=images.device)
    return nn.functional.cross_entropy(model(images), labels)


def _training(model: nn.Module, images: torch.Tensor, bf16: bool) -> Callable[[], None]:
    return training_step(model, images, _loss, bf16=bf16)


def _inference(model: nn.Module, images: torch.Tensor, bf16: bool) -> Callable[[], None]:
    return inference(model, images, bf16=bf16)


if __name__ == "__main__":
    sys.exit(main())
