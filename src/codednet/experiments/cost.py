"""What coding costs on this machine: the network beside its plain twin, one class's own network, and the naive form."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from codednet.errors import CodednetError
from codednet.experiments.experiment import Experiment, Table
from codednet.experiments.subject import Subject
from codednet.measure import (
    Comparison,
    comparison_of,
    inference,
    multiply_adds,
    peak_bytes,
    take_turns,
    training_step,
    usual_loss,
)
from codednet.models import CodedResNeXt
from codednet.models.config import NetworkConfig
from codednet.nn.naive import use_naive_form

FEWEST, MOST = 5, 40
"""Rounds that are timed, as many as fit into the seconds given."""
NAIVE_BYTES = 2**30
"""Most memory that the tensors of all branches may take in the naive form; batches are made smaller for it."""


@dataclass(frozen=True, kw_only=True)
class CostOptions:
    """How cost is measured."""

    batch: int = 32
    """Images of a pass and of a training step."""
    seconds: float = 3.0
    """That each comparison is timed for, about; more on a slow machine."""

    def __post_init__(self) -> None:
        if self.batch < 1 or not self.seconds > 0:
            raise CodednetError(
                f"cost needs 1 image or more and more than 0 seconds; got batch={self.batch}, seconds={self.seconds:g}."
            )


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How fast one network is beside another, both run in turn."""

    images_a_second: float
    """Median."""
    ratio: float
    """Its time over that of the other in the same round; median."""
    spread: float
    """Interquartile range of these ratios."""
    is_steady: bool
    """Whether the rounds agree well enough for the ratio to mean something."""


@dataclass(frozen=True, kw_only=True)
class NetworkCost:
    """One network; ratios are to the plain twin."""

    network: str
    """coded, plain, or one class: what is cut out along the path of the first class."""
    parameters: int
    multiply_adds: int
    """Of one image, multiplications and additions counted as one."""
    inference: Pace
    training: Pace | None
    """None of one class's network, which is not trained."""
    training_bytes: int | None
    """Most memory at one time in a training step, over weights, momentum and images."""


@dataclass(frozen=True, kw_only=True)
class NaiveCost:
    """The coded network as the equations say it, with every branch's own output in memory."""

    batch: int
    """Images of a step: fewer where the tensors would be too large."""
    training: Pace
    """Its ratio is to the coded network as it is, at this batch."""
    training_bytes: int
    coded_bytes: int
    """Of the coded network as it is, at this batch."""


@dataclass(frozen=True, kw_only=True)
class CostRecord:
    """Costs, in float32."""

    batch: int
    image_size: int
    device: str
    threads: int
    networks: tuple[NetworkCost, ...]
    naive: NaiveCost | None
    """None of a plain network, and where not even one image fits."""


def measure(subject: Subject, options: CostOptions) -> CostRecord:
    """Fresh networks of the run's shape, timed side by side on random images; no baseline run is needed."""
    config, size, device = subject.model.config, subject.data.image_size, subject.device
    noise = torch.randn(options.batch, config.in_chans, size, size, generator=torch.Generator().manual_seed(0))
    images = noise.to(device, memory_format=torch.channels_last)
    return CostRecord(
        batch=options.batch,
        image_size=size,
        device=str(device),
        threads=torch.get_num_threads(),
        networks=_networks(config, images, options.seconds),
        naive=_naive(config, images, options.seconds) if config.codes else None,
    )


def _networks(config: NetworkConfig, images: Tensor, seconds: float) -> tuple[NetworkCost, ...]:
    configs = {"plain": config.plain()}
    if config.codes:
        configs |= {"coded": config, "one class": config.narrowed([0])}
    networks = {name: _fresh(one, images) for name, one in configs.items()}
    passes = _paces([inference(network, images) for network in networks.values()], images, seconds)
    counts = {name: multiply_adds(inference(network, images[:1])) for name, network in networks.items()}
    trained = [network for name, network in networks.items() if name != "one class"]
    steps = [training_step(network, images, usual_loss) for network in trained]
    trainings = _paces(steps, images, seconds)
    peaks = [peak_bytes(step, images.device) for step in steps]
    return tuple(
        NetworkCost(
            network=name,
            parameters=sum(parameter.numel() for parameter in network.parameters()),
            multiply_adds=counts[name],
            inference=passes[index],
            training=trainings[index] if index < len(steps) else None,
            training_bytes=peaks[index] if index < len(steps) else None,
        )
        for index, (name, network) in enumerate(networks.items())
    )


def _naive(config: NetworkConfig, images: Tensor, seconds: float) -> NaiveCost | None:
    coded, naive = _fresh(config, images), _fresh(config, images)
    batch = _naive_batch(coded, images)
    if batch == 0:
        return None
    use_naive_form(naive)
    steps = [training_step(network, images[:batch], usual_loss) for network in (coded, naive)]
    _, pace = _paces(steps, images[:batch], seconds)
    coded_bytes, naive_bytes = (peak_bytes(step, images.device) for step in steps)
    return NaiveCost(batch=batch, training=pace, training_bytes=naive_bytes, coded_bytes=coded_bytes)


def _naive_batch(network: CodedResNeXt, images: Tensor) -> int:
    """The most images, in halves of the batch, whose branches' outputs fit; 0 where not even one does."""
    with torch.no_grad():
        steps = [step for step in network.eval().walk(images[:1]) if step.is_coded]
        values = sum(step.block.config.num_branches * step.finish().numel() for step in steps)
    batch = len(images)
    while batch and batch * values * images.element_size() > NAIVE_BYTES:
        batch //= 2
    return batch


def _paces(calls: list[Callable[[], None]], images: Tensor, seconds: float) -> list[Pace]:
    """Pace of each call, beside the first."""
    for call in calls:
        call()  # what is computed or allocated once
    (once,) = zip(*take_turns(calls, rounds=1, warmup=0, device=images.device), strict=True)
    rounds = int(min(max(seconds / sum(once), FEWEST), MOST))
    times = take_turns(calls, rounds=rounds, warmup=1, device=images.device)
    return [_pace(comparison_of("", taken, times[0]), len(images)) for taken in times]


def _pace(found: Comparison, batch: int) -> Pace:
    return Pace(
        images_a_second=batch / found.seconds, ratio=found.ratio, spread=found.spread, is_steady=found.is_steady
    )


def _fresh(config: NetworkConfig, images: Tensor) -> CodedResNeXt:
    with torch.random.fork_rng(devices=[]):
        network = CodedResNeXt(config)
    return network.to(images.device).to(memory_format=torch.channels_last)


def tables(record: CostRecord) -> tuple[Table, ...]:
    """A row a network, and one for the naive form."""
    heads = ("images a second", "time beside the plain twin")
    networks = Table(
        name="",
        title=f"Cost in float32 on {record.device}, {record.batch} images of {record.image_size} x {record.image_size}",
        columns=(
            "network",
            "parameters",
            "multiply-adds",
            *(f"{what}: {head}" for what in ("inference", "training") for head in heads),
            "training: bytes",
        ),
        rows=tuple(
            (
                one.network,
                one.parameters,
                one.multiply_adds,
                *_cells(one.inference),
                *_cells(one.training),
                one.training_bytes,
            )
            for one in record.networks
        ),
    )
    naive = record.naive
    if naive is None:
        return (networks,)
    form = Table(
        name="naive",
        title=f"A training step as the equations say it, beside the one that is used; {naive.batch} images",
        columns=("images a second", "time beside the one used", "bytes", "bytes of the one used"),
        rows=((*_cells(naive.training), naive.training_bytes, naive.coded_bytes),),
    )
    return networks, form


def _cells(pace: Pace | None) -> tuple[float | None, float | None]:
    if pace is None:
        return None, None
    return pace.images_a_second, pace.ratio if pace.is_steady else None


EXPERIMENT = Experiment(
    name="cost",
    title="Computational cost",
    version=1,
    record=CostRecord,
    measure=measure,
    tables=tables,
    options=CostOptions,
    timed=True,
)
