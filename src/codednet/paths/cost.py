"""What a network costs, all of it together: a share of the parameters alone says little about time."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from codednet.measure import (
    Comparison,
    Latency,
    comparison_of,
    inference,
    latency_of,
    multiply_adds,
    take_turns,
)
from codednet.models import CodedResNeXt

BATCHES = (1, 32)
# Rounds that are timed when none are given: as many as fit, within limits.
_SECONDS, _FEWEST, _MOST = 4.0, 20, 200


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Cost of a network on this machine, with torch's present number of threads."""

    parameters: int
    multiply_adds: int
    """Of one image."""
    bytes: int
    """Of its weights in a file."""
    latencies: Mapping[int, Latency]
    """Seconds of a pass, by how many images it is for."""

    @property
    def latency(self) -> Latency:
        """Seconds of one image."""
        return self.latencies[1]


@dataclass(frozen=True, kw_only=True)
class CostComparison:
    """What a part costs beside the whole network that it was cut out of, their passes run in turn."""

    whole: Cost
    part: Cost
    latency_ratios: Mapping[int, Comparison]
    """The part's time over that of the whole, by how many images a pass is for."""


def measure_cost(
    network: CodedResNeXt, image: Tensor, *, batches: Sequence[int] = BATCHES, rounds: int | None = None
) -> Cost:
    """Cost of a network for one image of shape (1, channels, height, width); leaves it in evaluation mode.

    Without `rounds`, each pass is timed for some seconds, 20 to 200 times.
    """
    seconds = {batch: _times([network], image, batch, rounds)[0] for batch in batches}
    return _cost(network, image, {batch: latency_of(taken) for batch, taken in seconds.items()})


def compare_costs(
    whole: CodedResNeXt,
    part: CodedResNeXt,
    image: Tensor,
    *,
    batches: Sequence[int] = BATCHES,
    rounds: int | None = None,
) -> CostComparison:
    """Costs of both, their passes run in turn in one process; both are left in evaluation mode."""
    seconds = {batch: _times([whole, part], image, batch, rounds) for batch in batches}
    costs = [
        _cost(network, image, {batch: latency_of(taken[place]) for batch, taken in seconds.items()})
        for place, network in enumerate((whole, part))
    ]
    ratios = {batch: comparison_of(f"batch {batch}", taken[1], taken[0]) for batch, taken in seconds.items()}
    return CostComparison(whole=costs[0], part=costs[1], latency_ratios=ratios)


def _cost(network: CodedResNeXt, image: Tensor, latencies: Mapping[int, Latency]) -> Cost:
    call = inference(network, image)
    call()  # what depends on the weights alone is computed once, and counts for no image
    return Cost(
        parameters=sum(parameter.numel() for parameter in network.parameters()),
        multiply_adds=multiply_adds(call),
        bytes=sum(tensor.nbytes for tensor in network.state_dict().values()),
        latencies=latencies,
    )


def _times(networks: Sequence[CodedResNeXt], image: Tensor, batch: int, rounds: int | None) -> list[list[float]]:
    images = image.expand(batch, *image.shape[1:]).contiguous(memory_format=torch.channels_last)
    calls = [inference(network, images) for network in networks]
    rounds = _rounds(calls) if rounds is None else rounds
    return take_turns(calls, rounds=rounds, warmup=3, device=image.device)


def _rounds(calls: Sequence[Callable[[], None]]) -> int:
    for call in calls:
        call()
    start = time.perf_counter()
    for call in calls:
        call()
    return int(min(max(_SECONDS / (time.perf_counter() - start), _FEWEST), _MOST))
