"""Sweeps: the same recipe with other values, one training after the other, each in a folder of its own."""

import csv
import io
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from codednet.atomic import write_whole
from codednet.errors import CodednetError
from codednet.runs.config import RunConfig
from codednet.runs.folder import RunFolder
from codednet.training.run import resume, train

Values = list[tuple[str, str]]


def combinations(given: Sequence[str]) -> list[tuple[str, Values]]:
    """Every combination of values like "coding.mu=0,2", with the name of its folder.

    >>> [name for name, _ in combinations(["coding.mu=0,2", "seed=0,1", "optim.epochs=3"])]
    ['coding.mu=0,seed=0', 'coding.mu=0,seed=1', 'coding.mu=2,seed=0', 'coding.mu=2,seed=1']
    """
    fields: dict[str, list[str]] = {}
    for text in given:
        key, equals, values = text.partition("=")
        if not equals or not key or not values:
            raise CodednetError(f"--set takes fields and values, as in coding.mu=0,2,4; got {text!r}.")
        if key in fields:
            raise CodednetError(f"--set names {key} twice: give all its values at once, as in {key}=1,2,3.")
        fields[key] = values.split(",")
    varied = [key for key, values in fields.items() if len(values) > 1]
    result = []
    for picked in itertools.product(*fields.values()):
        chosen = list(zip(fields, picked, strict=True))
        name = ",".join(f"{key}={value}" for key, value in chosen if key in varied)
        result.append((name.replace("/", "_") or "run", chosen))
    return result


def sweep(
    trainings: Sequence[tuple[str, RunConfig]],
    path: str | Path,
    *,
    progress: bool = True,
    say: Callable[[str], None] = print,
) -> list[dict[str, Any]]:
    """Train all that are not finished; a row for each, which sweep.csv holds too."""
    path = Path(path)
    rows = []
    for number, (name, config) in enumerate(trainings, start=1):
        folder = RunFolder(path / name)
        if folder.config_file.is_file() and folder.config() != config:
            raise CodednetError(
                f"'{folder.path}' holds a training with other settings: give the sweep another folder with -o."
            )
        if not folder.is_finished:
            say(f"{number} of {len(trainings)}: {name}")
            if folder.config_file.is_file():
                resume(folder.path, progress=progress, say=say)
            else:
                train(config, folder.path, progress=progress, say=say)
        rows.append({"run": name, **_row(folder.read_json("train"))})
        _write(path / "sweep.csv", rows)
    return rows


def _row(summary: dict[str, Any]) -> dict[str, Any]:
    last = summary["last_epoch"]
    names = ("train/loss", "train/accuracy", "tune/loss", "tune/accuracy", *(n for n in last if "decoder/" in n))
    best = {f"best {name}": value for name, value in summary["best"].items()}
    return {name: last[name] for name in names if name in last} | best


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    text = io.StringIO()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, lambda file: file.write_text(text.getvalue(), encoding="utf-8"))
