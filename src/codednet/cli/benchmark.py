"""`codednet benchmark`: coded networks against their plain twins, side by side on this machine."""

import json
import sys
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from codednet.cli.arguments import check_threads
from codednet.errors import CodednetError

if TYPE_CHECKING:
    from torch import Tensor

    from codednet.models import CodedResNeXt


@dataclass(frozen=True, kw_only=True)
class BenchmarkConfig:
    """Measure time and memory of coded networks against their plain twins, interleaved in one process."""

    models: tuple[str, ...] = ("coded_resnext29_10x11d", "coded_resnext29_20x6d", "coded_resnext50_32x4d")
    """Coded variants to measure."""
    modes: tuple[str, ...] = ("training", "inference", "memory")
    """What to measure: training, inference, memory."""
    precisions: tuple[str, ...] = ("float32", "bf16")
    """float32, or bf16 for autocast."""
    batch: int = 64
    """Images of a training step; 64 is the paper's, a core, on CIFAR."""
    inference_batches: tuple[int, ...] = (1, 32)
    """Images of an inference."""
    rounds: int = 15
    """Timings of each; every round runs all of them in turn."""
    threads: int = 0
    """Threads of torch; 0 leaves its own choice."""
    device: str = "auto"
    """auto, cpu, cuda or mps."""
    naive: bool = False
    """Measure the training step of the naive form as well, which builds the full (batch, N, C, H, W) tensor."""
    limit: float = 0.05
    """Widest interquartile range, relative to the ratio, at which a ratio is shown."""
    json: bool = False
    """Print one JSON object."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table. A ratio that its rounds do not agree on is None, and the note says so."""

    model: str
    what: str
    precision: str
    batch: int
    plain: float
    """Seconds, or bytes."""
    coded: float
    ratio: float | None
    spread: float | None
    note: str = ""


def run(config: BenchmarkConfig) -> int:
    """Print the table; exit status 0."""
    import torch

    from codednet.training.device import keep_freed_memory

    _check(config)
    if config.threads:
        torch.set_num_threads(config.threads)
    keep_freed_memory()  # as a training does: page faults are many, and differ from one network to the next by chance
    rows = []
    for name in config.models:
        for precision in config.precisions:
            for row in _measure(name, precision, config):
                rows.append(row)
                print(_line(row), file=sys.stderr if config.json else sys.stdout, flush=True)
    if config.json:
        machine = {
            "torch": torch.__version__,
            "device": _device_name(config.device),
            "threads": torch.get_num_threads(),
            "limit": config.limit,
        }
        print(json.dumps({"machine": machine, "rows": [asdict(row) for row in rows]}))
    return 0


def _check(config: BenchmarkConfig) -> None:
    from codednet.models.variants import VARIANTS

    known = {"models": tuple(VARIANTS), "modes": ("training", "inference", "memory"), "precisions": ("float32", "bf16")}
    for field, choices in known.items():
        for value in getattr(config, field):
            if value not in choices:
                raise CodednetError(f"{field} must be among {', '.join(choices)}; got {value!r}.")
    if (least := min((config.batch, *config.inference_batches))) < 1:
        raise CodednetError(f"batches must hold 1 image or more; got {least}.")
    check_threads(config.threads)


def _measure(name: str, precision: str, config: BenchmarkConfig) -> list[Row]:
    rows = []
    if "training" in config.modes:
        rows += _training(name, precision, config)
    if "inference" in config.modes:
        rows += [_inference(name, precision, batch, config) for batch in config.inference_batches]
    if "memory" in config.modes:
        rows.append(_memory(name, precision, config))
    return rows


def _training(name: str, precision: str, config: BenchmarkConfig) -> list[Row]:
    from codednet.measure import compare, training_step, usual_loss
    from codednet.nn.naive import use_naive_form

    plain, coded, images = _networks(name, config.batch, config.device)
    options = {"bf16": precision == "bf16"}
    calls = {"training": training_step(coded, images, usual_loss, **options)}
    if config.naive:
        naive = deepcopy(coded)
        use_naive_form(naive)
        calls["training, naive form"] = training_step(naive, images, usual_loss, **options)
    results = compare(
        training_step(plain, images, usual_loss, **options),
        calls,
        rounds=config.rounds,
        warmup=1,
        limit=config.limit,
        device=images.device,
    )
    return [_timed(name, result.name, precision, config.batch, result) for result in results]


def _inference(name: str, precision: str, batch: int, config: BenchmarkConfig) -> Row:
    from codednet.measure import compare, inference

    plain, coded, images = _networks(name, batch, config.device)
    bf16 = precision == "bf16"
    # About as many images a timing, whatever the batch.
    inner = max(1, 16 // batch)
    (result,) = compare(
        inference(plain, images, bf16=bf16),
        {"inference": inference(coded, images, bf16=bf16)},
        rounds=2 * config.rounds,
        inner=inner,
        limit=config.limit,
        device=images.device,
    )
    return _timed(name, "inference", precision, batch, result)


def _memory(name: str, precision: str, config: BenchmarkConfig) -> Row:
    from codednet.measure import peak_bytes, training_step, usual_loss

    plain, coded, images = _networks(name, config.batch, config.device)
    peaks = []
    for model in (plain, coded):
        step = training_step(model, images, usual_loss, bf16=precision == "bf16")
        step()  # the optimiser's state exists from the second step on
        peaks.append(peak_bytes(step, images.device))
    return Row(
        model=name,
        what="peak memory of a training step",
        precision=precision,
        batch=config.batch,
        plain=peaks[0],
        coded=peaks[1],
        ratio=peaks[1] / peaks[0],
        spread=0.0,
    )


def _timed(name: str, what: str, precision: str, batch: int, result: object) -> Row:
    from codednet.measure import Comparison

    assert isinstance(result, Comparison)
    return Row(
        model=name,
        what=what,
        precision=precision,
        batch=batch,
        plain=result.baseline_seconds,
        coded=result.seconds,
        ratio=result.ratio if result.is_steady else None,
        spread=result.spread if result.is_steady else None,
        note="" if result.is_steady else str(result),
    )


def _networks(name: str, batch: int, device: str) -> "tuple[CodedResNeXt, CodedResNeXt, Tensor]":
    """Plain twin, coded network and random images, all in channels_last on the device."""
    import torch

    from codednet.models import create_model
    from codednet.runs.collect import pick_device

    where = pick_device(device)

    coded = create_model(name).to(memory_format=torch.channels_last)
    plain = create_model(name.removeprefix("coded_")).to(memory_format=torch.channels_last)
    size = 160 if "resnext50" in name else coded.pretrained_cfg["input_size"][-1]
    images = torch.randn(batch, 3, size, size).to(memory_format=torch.channels_last)
    return plain.to(where), coded.to(where), images.to(where)


def _device_name(device: str) -> str:
    """What it is measured on, as far as the system tells."""
    import torch

    from codednet.runs.collect import pick_device
    from codednet.runs.environment import processor

    where = pick_device(device)
    return torch.cuda.get_device_name(where) if where.type == "cuda" else processor()


def _line(row: Row) -> str:
    unit = (1e6, "MB") if "memory" in row.what else (1e-3, "ms")
    sizes = f"{row.plain / unit[0]:9.1f} {row.coded / unit[0]:9.1f} {unit[1]}"
    ratio = row.note if row.ratio is None else f"{row.ratio:.3f} (middle half within {row.spread:.3f})"
    return f"{row.model:24} {row.precision:8} {row.what:32} batch {row.batch:3}  {sizes}  {ratio}"
