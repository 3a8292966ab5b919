"""`codednet sweep`: many trainings of one recipe into one folder, for ablations; interrupted, it goes on."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from codednet.cli.train import TrainConfig
from codednet.errors import CodednetError

PROGRAM = "codednet sweep"


@dataclass(frozen=True, kw_only=True)
class SweepConfig:
    """Train a recipe once for every combination of the values given, into one folder; run again, it goes on."""

    SHORT: ClassVar = {"-o": "--output"}

    recipe: str
    """A shipped recipe, or a YAML file of your own."""
    set: list[str]
    """Values of a field of the recipe, such as coding.mu=0,2,4; several fields make all combinations. One value is the
    same in all trainings."""
    output: str = "runs/sweep"
    """Folder that holds a run folder for each combination, and sweep.csv."""
    json: bool = False
    """Print one JSON object."""


def run(config: SweepConfig) -> int:
    """Train every combination that is not finished, and print what came of each; exit status 0."""
    from codednet.training.sweep import combinations, sweep

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    trainings = [(name, _resolved(config.recipe, values)) for name, values in combinations(config.set)]
    rows = sweep(trainings, config.output, say=say)
    if config.json:
        print(json.dumps({"folder": config.output, "trainings": rows}))
    else:
        _print(rows)
    return 0


def _resolved(recipe: str, values: Sequence[tuple[str, str]]) -> Any:
    """Config of one training, its values read as on the command line of `train`."""
    from codednet.cli.arguments import parse
    from codednet.cli.train import run_config

    options = parse(TrainConfig, [recipe, *(f"--{key}={value}" for key, value in values)], PROGRAM)
    if options is None:
        raise CodednetError("a sweep takes values of fields, not --help.")
    return run_config(options)


def _print(rows: Sequence[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    decoders = [name for name in rows[0] if "decoder/" in name]
    columns = ("train/loss", "train/accuracy", "best accuracy", *decoders[-1:])
    shown = [name for name in columns if any(name in row for row in rows)]
    table = Table("training", *shown)
    for row in rows:
        table.add_row(row["run"], *(f"{row[name]:.4f}" if name in row else "" for name in shown))
    Console().print(table)
