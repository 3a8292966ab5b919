"""How fast this machine trains by a recipe, and the recipe over fewer epochs."""

import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from codednet.data import open_data
from codednet.errors import CodednetError
from codednet.measure import training_step
from codednet.nn import total_loss
from codednet.runs.config import RunConfig
from codednet.training.device import choose
from codednet.training.network import build, network_config

# The first steps allocate memory and choose algorithms.
_FIRST_STEPS = 3
_LEAST_STEPS = 5


def measure_pace(config: RunConfig, *, seconds: float = 4.0) -> float:
    """Images a second of training by the recipe on this machine, by some bare steps on random images.

    It takes that many seconds, or eight steps where they take longer. The real training waits for its data and writes
    records besides, so it is a little slower.
    """
    choice = choose(config.machine)
    data = open_data(config.data, config.model.in_chans)
    model = build(network_config(config, data), config, data).to(choice.device)
    size = (config.optim.batch // config.optim.accumulate, data.in_chans, data.image_size, data.image_size)
    images = torch.randn(size, device=choice.device)
    if config.machine.channels_last:
        model.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)
    labels = torch.arange(len(images), device=choice.device) % len(data.classes)

    def loss(_: nn.Module, batch: Tensor) -> Tensor:
        return total_loss(model.trace(batch), labels, model.codes, mu=config.coding.mu)

    step = training_step(model, images, loss, bf16=choice.precision == "bf16")
    return len(images) / statistics.median(_times(step, seconds))


def _times(step: Callable[[], None], seconds: float) -> list[float]:
    """Seconds of each step, the first few left out."""
    times: list[float] = []
    started = time.perf_counter()
    while len(times) < _FIRST_STEPS + _LEAST_STEPS or time.perf_counter() - started < seconds:
        before = time.perf_counter()
        step()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append(time.perf_counter() - before)
    return times[_FIRST_STEPS:]


def shortened(config: RunConfig, epochs: int) -> RunConfig:
    """The recipe over so many epochs, at most its own; the learning rate takes the same way in less time."""
    optim = config.optim
    if not 1 <= epochs <= optim.epochs:
        raise CodednetError(f"a recipe of {optim.epochs} epochs can be shortened to 1 to {optim.epochs}; got {epochs}.")
    share = epochs / optim.epochs
    return replace(
        config,
        optim=replace(
            optim,
            epochs=epochs,
            warmup_epochs=optim.warmup_epochs * share,
            cooldown_epochs=optim.cooldown_epochs * share,
        ),
    )


def epochs_within(seconds: float, images_a_second: float, images: int, *, trainings: int = 1, most: int) -> int:
    """Epochs, from 1 to `most`, of so many images each for which `trainings` end within the time.

    >>> epochs_within(60, images_a_second=1000, images=10_000, trainings=2, most=10)
    2
    """
    # Of the bare steps' speed, what is left where epochs are evaluated and kept, and steps recorded.
    of_bare = 0.85
    return max(1, min(most, int(seconds * of_bare * images_a_second / (trainings * images))))
