"""Times of a network with exits beside itself without, on the same images in turn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from codednet.decoding.exits import ExitRule
from codednet.experiments.subject import Subject
from codednet.measure import comparison_of, take_turns
from codednet.runs.collect import evaluating

TIMED = 64
"""Most images that are timed, one by one and as one batch."""


@dataclass(frozen=True, kw_only=True)
class ExitTime:
    """What exits save of a network's time, at one size of batches."""

    batch: int
    images: int
    """Of the test split, drawn so that as many leave at each look as of all its images."""
    whole_milliseconds: float
    """An image of the network without looks: median over the rounds."""
    exits_milliseconds: float
    """An image of the network with exits: median over the rounds."""
    speedup: float
    """How many times as fast the exits make it: median over the rounds, each on the same images."""
    spread: float
    """Interquartile range of the rounds' speed-ups."""
    steady: bool
    """Whether the rounds agree well enough for the speed-up to mean something."""


def time_exits(
    subject: Subject, rule: ExitRule, indices: Int[Tensor, " images"], exits: Int[Tensor, " images"], rounds: int
) -> tuple[ExitTime, ...]:
    """Times of single images and of one batch; none without rounds, or where the rule is never to exit.

    `indices` are the places of the test images in their data set, and `exits` the looks that they leave at.
    """
    if not rounds or rule.choice.threshold is None:
        return ()
    model, device = subject.model, subject.device
    chosen = indices.numpy()[spread_evenly(exits.numpy(), TIMED)]
    loader = replace(subject.data, splits={"test": np.sort(chosen)}).eval_loader("test", TIMED)
    images = torch.cat([batch.images for batch in loader]).to(device, memory_format=torch.channels_last)
    runner = rule.runner(model)
    with evaluating(model, device):
        return tuple(_time(model, runner, images, size, rounds) for size in sorted({1, len(images)}))


def spread_evenly(exits: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Places of so many images, or of all if there are fewer, among which each exit is as frequent as among all.

    >>> exits = np.array([0, 1, 0, 1, 0, 0, 1, 1])
    >>> exits[spread_evenly(exits, 4)].tolist()
    [0, 0, 1, 1]
    """
    taken = min(count, len(exits))
    steps = ((np.arange(taken) + 0.5) * len(exits) / taken).astype(np.int64)
    return np.argsort(exits, kind="stable")[steps]


def _time(
    whole: Callable[[Tensor], object],
    exits: Callable[[Tensor], object],
    images: Tensor,
    batch: int,
    rounds: int,
) -> ExitTime:
    parts = [images[start : start + batch] for start in range(0, len(images), batch)]
    calls = [_over(parts, whole), _over(parts, exits)]
    whole_taken, exits_taken = take_turns(calls, rounds=rounds, device=images.device)
    found = comparison_of("whole", whole_taken, exits_taken)
    milliseconds = 1e3 / len(images)
    return ExitTime(
        batch=batch,
        images=len(images),
        whole_milliseconds=found.seconds * milliseconds,
        exits_milliseconds=found.baseline_seconds * milliseconds,
        speedup=found.ratio,
        spread=found.spread,
        steady=found.is_steady,
    )


def _over(parts: Sequence[Tensor], call: Callable[[Tensor], object]) -> Callable[[], None]:
    def run() -> None:
        for part in parts:
            call(part)

    return run
