"""`codednet train`: a recipe into a run folder, or on with an interrupted run."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

from codednet.data.config import DataConfig
from codednet.errors import CodednetError
from codednet.runs.config import CodingConfig, MachineConfig, ModelConfig, OptimConfig, RunConfig
from codednet.runs.folder import RunFolder, default_path


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Train a coded network, or its plain twin, by a recipe; every field of the recipe can be given here."""

    SHORT: ClassVar = {"-o": "--output"}
    PLACES: ClassVar = ("recipe",)

    recipe: str | None = None
    """A shipped recipe (cifar10, cifar100, imagenet, cifar10-small, fashion-mini), or a YAML file of your own."""
    output: str | None = None
    """Folder of the run; runs/RECIPE-DATE when left out."""
    resume: str | None = None
    """Folder of a run to go on with, as it was configured."""
    seed: int = 0
    """Seed of weights, order, augmentation and dropped branches."""
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    coding: CodingConfig = field(default_factory=CodingConfig)
    optim: OptimConfig = field(default_factory=OptimConfig)
    machine: MachineConfig = field(default_factory=MachineConfig)
    json: bool = False
    """Print one JSON object."""

    @staticmethod
    def defaults(places: Sequence[str]) -> dict[str, Any]:
        """What the recipe says."""
        return recipe_defaults(places[0]) if places else {}


def recipe_defaults(name: str) -> dict[str, Any]:
    """Values of a recipe by dotted name."""
    from codednet.training.recipes import load_recipe

    values: dict[str, Any] = {}
    for owner, value in asdict(load_recipe(name)).items():
        if isinstance(value, dict):
            values |= {f"{owner}.{key}": entry for key, entry in value.items()}
        elif owner != "recipe":
            values[owner] = value
    return values


def run(config: TrainConfig) -> int:
    """Train, and print what came of it; exit status 0."""
    from codednet.training import resume, train

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    if config.resume is not None:
        if config.recipe is not None:
            raise CodednetError("--resume goes on with a run as it was configured: give it without a recipe.")
        path = Path(config.resume)
        summary = resume(path, say=say)
    elif config.recipe is None:
        raise CodednetError("RECIPE is missing: codednet train RECIPE, or codednet train --resume RUN.")
    else:
        path = Path(config.output) if config.output else default_path(config.recipe)
        summary = train(run_config(config), path, say=say)
    if config.json:
        print(json.dumps({"run": str(path), **summary}))
    elif _is_first():
        print(described(RunFolder(path), summary))
    return 0


def run_config(config: Any) -> RunConfig:
    """The part of the options that a run depends on."""
    return RunConfig(**{f.name: getattr(config, f.name) for f in fields(RunConfig)})


def described(folder: RunFolder, summary: dict[str, Any]) -> str:
    """Where the run is, and how well it went."""
    last = summary["last_epoch"]
    best = summary["best"]
    tuned = (
        f"best on the tune split in epoch {best['epoch'] + 1}: {best['accuracy']:.1%}; " if "accuracy" in best else ""
    )
    return (
        f"{folder.path}: {tuned}{summary['epochs']} epochs in {summary['seconds'] / 60:.1f} minutes, "
        f"{last['images_a_second']:,.0f} images a second, {last['waiting_share']:.1%} of the time waiting for data\n"
        f"next: codednet evaluate {folder.path}"
    )


def _is_first() -> bool:
    import os

    return os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0")) == "0"
