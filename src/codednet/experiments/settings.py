"""Settings of trainings: the fields of their configs in which they differ."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from codednet.experiments.experiment import Cell
from codednet.models.config import NetworkConfig
from codednet.runs.config import RunConfig

SEED = "seed"
# Where data lies and what a machine is like; precision alone changes what is computed.
_NO_MATTER = ("recipe", "data.root", "data.download", "data.workers", "data.max_unreadable")
_PRECISION = "machine.precision"
# What a plain network has no use for.
_OF_CODES = ("model.active", "model.code_seed", "model.code_quality")


class Trained(NamedTuple):
    """What a run was asked for, and the network that it became."""

    config: RunConfig
    network: NetworkConfig


def differences(runs: Sequence[Trained]) -> tuple[dict[str, Cell], ...]:
    """Of each run, the fields that are not the same in all: numbers, or what stands for them on a command line.

    None is a field that means nothing for a run: those of the codes in a plain one.
    """
    given = [flat(run.config) for run in runs]
    names = [name for name in given[0] if _matters(name) and len({values[name] for values in given}) > 1]
    written = [
        {name: _written(name, values[name], run) for name in names} for run, values in zip(runs, given, strict=True)
    ]
    different = [name for name in names if len({row[name] for row in written} - {None}) > 1]
    return tuple({name: row[name] for name in different} for row in written)


def without_seed(settings: Mapping[str, Cell]) -> dict[str, Cell]:
    """The settings that tell trainings apart which are no repeats of each other."""
    return {name: value for name, value in settings.items() if name != SEED}


def flat(config: Any, owner: str = "") -> dict[str, Any]:
    """Values of a config by dotted name.

    >>> flat(RunConfig())["coding.mu"]
    6.0
    """
    found: dict[str, Any] = {}
    for field in fields(config):
        value, name = getattr(config, field.name), f"{owner}{field.name}"
        found |= flat(value, f"{name}.") if is_dataclass(value) else {name: value}
    return found


def active_branches(network: NetworkConfig) -> str:
    """Active branches by stage, such as "10 5 3"; by block where the blocks of a stage differ."""
    stages = [[block.active for block in stage] for stage in network.stages]
    even = all(len(set(stage)) == 1 for stage in stages)
    return " ".join(str(active) for stage in stages for active in (stage[:1] if even else stage))


def _matters(name: str) -> bool:
    return name not in _NO_MATTER and (not name.startswith("machine.") or name == _PRECISION)


def _written(name: str, value: Any, run: Trained) -> Cell:
    if not run.config.model.coded and (name in _OF_CODES or name.startswith("coding.")):
        return None
    if name == "model.active":
        return active_branches(run.network)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    if value is None:
        return "null"
    return value if isinstance(value, int | float) else str(value)
