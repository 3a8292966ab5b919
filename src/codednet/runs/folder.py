"""A run folder: where everything of one training lies, and how far it has come."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codednet.atomic import write_whole
from codednet.errors import CodednetError
from codednet.runs.config import RunConfig
from codednet.runs.document import from_document, parse_yaml, to_yaml

if TYPE_CHECKING:
    from codednet.models import CodedResNeXt

START = ("network.json", "environment.json", "config.yaml")
"""Written before the first step, after the codes and in this order: what has no config yet was cut off."""


@dataclass(frozen=True)
class RunFolder:
    """The files of one run, by name."""

    path: Path

    @property
    def config_file(self) -> Path:
        """The resolved config."""
        return self.path / "config.yaml"

    @property
    def metrics_file(self) -> Path:
        """Losses and accuracies of every step."""
        return self.path / "metrics.csv"

    @property
    def epochs_file(self) -> Path:
        """Losses, accuracies and speed of every epoch."""
        return self.path / "epochs.csv"

    @property
    def checkpoint(self) -> Path:
        """What training resumes from."""
        return self.path / "checkpoints" / "last.ckpt"

    @property
    def model(self) -> Path:
        """The network: best on the tune split, or the last where there is none."""
        return self.path / "model"

    @property
    def results(self) -> Path:
        """One JSON file a command."""
        return self.path / "results"

    @property
    def is_finished(self) -> bool:
        """Whether training came to its end."""
        return (self.results / "train.json").is_file()

    def config(self) -> RunConfig:
        """The config that the run was started with."""
        where = f"'{self.config_file}'"
        return from_document(RunConfig, parse_yaml(self.config_file.read_text(encoding="utf-8"), where), where)

    def load_model(self) -> "CodedResNeXt":
        """The run's network, in evaluation mode."""
        from codednet.models import load

        if not (self.model / "config.json").is_file():
            raise CodednetError(
                f"'{self.path}' has no network yet: its training has not finished an epoch. "
                f"Go on with `codednet train --resume {self.path}`."
            )
        return load(self.model)

    def weights_digest(self) -> str:
        """SHA-256 of the network, its words and its weights, by which what was fitted to it is known to be its own."""
        found = hashlib.sha256()
        for name in ("config.json", "model.safetensors"):
            with (self.model / name).open("rb") as file:
                found.update(hashlib.file_digest(file, "sha256").digest())
        return found.hexdigest()

    def write_json(self, name: str, document: Any) -> Path:
        """Write results/NAME.json; the file is there whole or not at all."""
        return self._write(self.results / f"{name}.json", json.dumps(document, indent=2) + "\n")

    def read_json(self, name: str) -> Any:
        """What results/NAME.json holds; None where there is no such file."""
        file = self.results / f"{name}.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None

    def network(self) -> dict[str, Any] | None:
        """Document of the network that is trained, its words in it; None before the run has begun."""
        file = self.path / "network.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None

    def write_start(
        self, config: RunConfig, network: dict[str, Any], environment: dict[str, Any], codes: dict[str, Any]
    ) -> None:
        """Write what is known before the first step, the code words by block among it; the config comes last."""
        (self.path / "codes").mkdir(parents=True, exist_ok=True)
        for file in (self.path / "codes").iterdir():  # of a start that was cut off
            file.unlink()
        for name, code in codes.items():
            write_whole(self.path / "codes" / f"{name}.txt", code.save)
        self._write(self.path / "network.json", json.dumps(network, indent=2) + "\n")
        self._write(self.path / "environment.json", json.dumps(environment, indent=2) + "\n")
        self._write(self.config_file, to_yaml(config))

    def _write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda file: file.write_text(text, encoding="utf-8"))
        return path


def new_run(path: Path) -> RunFolder:
    """A folder for a new run; one that already holds a run is refused."""
    folder = RunFolder(path)
    if folder.is_finished:
        raise CodednetError(f"'{path}' holds a finished run, which is not overwritten: give another folder with -o.")
    if folder.config_file.exists():
        raise CodednetError(
            f"'{path}' holds a run that has not finished: go on with `codednet train --resume {path}`, "
            "or give another folder with -o."
        )
    if path.exists() and not (path.is_dir() and all(map(_is_of_start, path.iterdir()))):
        raise CodednetError(f"'{path}' exists and is no empty folder: give another one with -o.")
    return folder


def _is_of_start(entry: Path) -> bool:
    """Whether `write_start` may have written it before it was cut off; it writes all of these anew."""
    if entry.name == "codes":
        return entry.is_dir() and all(file.suffix == ".txt" or file.name.startswith(".") for file in entry.iterdir())
    return entry.name in START or any(entry.name.startswith(f".{name}.") for name in START)


def open_run(path: str | Path) -> RunFolder:
    """The run in this folder."""
    folder = RunFolder(Path(path))
    if not folder.config_file.is_file():
        raise CodednetError(f"'{path}' is no run folder: it has no config.yaml. `codednet train RECIPE` makes one.")
    return folder


def load_any(model: str | Path) -> "CodedResNeXt":
    """Network of a run folder, of a saved folder, or of the hub, in evaluation mode."""
    from codednet.models import load

    folder = RunFolder(Path(model))
    return folder.load_model() if folder.config_file.is_file() else load(model)


def default_path(recipe: str) -> Path:
    """runs/RECIPE-DATE, with the time, so that each run has its own."""
    return Path("runs") / f"{Path(recipe).stem}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
