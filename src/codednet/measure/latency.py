"""Times: the median and tail of one call, and calls side by side, interleaved in one process, as ratios."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

import torch

from codednet.errors import CodednetError

# Widest interquartile range of round-by-round ratios that a ratio is still given with.
SPREAD_LIMIT = 0.05
# Fewer say nothing of the 95th percentile.
LEAST_ROUNDS = 20


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How long one call takes against the baseline that ran next to it."""

    name: str
    seconds: float
    """Median."""
    baseline_seconds: float
    """Median of the baseline."""
    ratio: float
    """Median over rounds of the call's time divided by the baseline's in the same round."""
    spread: float
    """Interquartile range of these ratios."""
    limit: float = SPREAD_LIMIT
    """Widest spread, relative to the ratio, at which the ratio may be shown."""

    @property
    def is_steady(self) -> bool:
        """Whether the rounds agree well enough for the ratio to mean something."""
        return self.spread <= self.limit * self.ratio

    def __str__(self) -> str:
        """Show the ratio, or a sentence that refuses it."""
        if self.is_steady:
            return f"{self.ratio:.3f}"
        return (
            f"no ratio: the middle half of the rounds spans {self.spread / self.ratio:.0%} of it, over the limit of "
            f"{self.limit:.0%}; run again on an idle machine, or with more rounds"
        )


@dataclass(frozen=True, kw_only=True)
class Latency:
    """How long one call takes."""

    seconds: float
    """Median."""
    p95: float
    """The 95th percentile: one call in twenty takes longer."""


def measure_latency(
    call: Callable[[], object], *, rounds: int = 40, warmup: int = 3, device: torch.device | str = "cpu"
) -> Latency:
    """Median and 95th percentile of a call's time; the first `warmup` calls do not count."""
    _check_rounds(rounds)
    return latency_of(take_turns([call], rounds=rounds, warmup=warmup, device=device)[0])


def latency_of(seconds: Sequence[float]) -> Latency:
    """Median and 95th percentile of these times."""
    _check_rounds(len(seconds))
    return Latency(seconds=median(seconds), p95=quantiles(seconds, n=20, method="inclusive")[-1])


def _check_rounds(rounds: int) -> None:
    if rounds < LEAST_ROUNDS:
        raise CodednetError(f"a 95th percentile needs at least {LEAST_ROUNDS} rounds, got {rounds}.")


def compare(
    baseline: Callable[[], object],
    calls: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 15,
    warmup: int = 2,
    inner: int = 1,
    limit: float = SPREAD_LIMIT,
    device: torch.device | str = "cpu",
) -> list[Comparison]:
    """Each call against the baseline, all run in turn in every round, the order turned round every time.

    `inner` calls make one timing: short ones need more. The first `warmup` rounds do not count.
    """
    if rounds < 4:
        raise CodednetError(f"a comparison needs at least 4 rounds for its quartiles, got {rounds}.")
    if not calls:
        raise CodednetError("a comparison needs at least one call next to the baseline, got none.")
    first, *others = take_turns([baseline, *calls.values()], rounds=rounds, warmup=warmup, inner=inner, device=device)
    return [comparison_of(name, taken, first, limit) for name, taken in zip(calls, others, strict=True)]


def take_turns(
    calls: Sequence[Callable[[], object]],
    *,
    rounds: int,
    warmup: int = 2,
    inner: int = 1,
    device: torch.device | str = "cpu",
) -> list[list[float]]:
    """Seconds of each call in every round, all run in turn, the order turned round every time."""
    times: list[list[float]] = [[] for _ in calls]
    for turn in range(warmup + rounds):
        order = range(len(calls)) if turn % 2 == 0 else reversed(range(len(calls)))
        for index in order:
            seconds = _seconds(calls[index], inner, torch.device(device))
            if turn >= warmup:
                times[index].append(seconds)
    return times


def comparison_of(
    name: str, taken: Sequence[float], baseline: Sequence[float], limit: float = SPREAD_LIMIT
) -> Comparison:
    """What the times of two calls say that ran in turn, round by round."""
    ratios = [one / other for one, other in zip(taken, baseline, strict=True)]
    first, _, third = quantiles(ratios, n=4)
    return Comparison(
        name=name,
        seconds=median(taken),
        baseline_seconds=median(baseline),
        ratio=median(ratios),
        spread=third - first,
        limit=limit,
    )


def _seconds(call: Callable[[], object], inner: int, device: torch.device) -> float:
    _wait(device)
    start = time.perf_counter()
    for _ in range(inner):
        call()
    _wait(device)
    return (time.perf_counter() - start) / inner


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
