"""A report of a small run with all that a report can hold, made once by the command."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from codednet.runs import RunFolder, open_run


@dataclass(frozen=True)
class Made:
    """A report that the command wrote."""

    folder: RunFolder
    arguments: list[str]
    """Of the command, after its name."""
    page: Path
    sections: dict[str, dict[str, Any]]
    """What the command said of each."""


def report(arguments: list[str]) -> dict[str, Any]:
    """What `codednet report` prints with --json."""
    command = [sys.executable, "-m", "codednet", "report", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def copied(run: Path, to: Path) -> Path:
    """The run as its training left it, whatever other tests have measured of it since."""
    copy = Path(shutil.copytree(run, to, ignore=shutil.ignore_patterns("checkpoints", "report")))
    for file in (copy / "results").iterdir():
        if file.name != "train.json":
            file.unlink()
    return copy


@pytest.fixture(scope="session")
def make_report() -> Callable[[list[str]], dict[str, Any]]:
    """Runs the command as users do, so that it sees the machine as it did before."""
    return report


@pytest.fixture(scope="session")
def sweep_folder(finished_run: Path, twin_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of a coded and a plain training, and one with another weight of the coding loss."""
    folder = tmp_path_factory.mktemp("sweep")
    copied(finished_run, folder / "coding.mu=6")
    copied(twin_run, folder / "model.coded=false")
    other = copied(finished_run, folder / "coding.mu=2")
    config = other / "config.yaml"
    config.write_text(config.read_text().replace("mu: 6.0", "mu: 2.0"))
    return folder


@pytest.fixture(scope="session")
def made(
    finished_run: Path, twin_run: Path, sweep_folder: Path, noise: Path, tmp_path_factory: pytest.TempPathFactory
) -> Made:
    """The report of everything; tests only read it."""
    run = copied(finished_run, tmp_path_factory.mktemp("report") / "run")
    options = ["--baseline", str(twin_run), "--sweep", str(sweep_folder), "--against", str(noise), "--device", "cpu"]
    arguments = [str(run), *options]
    found = report(arguments)
    return Made(open_run(run), arguments, Path(found["page"]), found["sections"])
