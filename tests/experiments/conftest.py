"""A run with all that experiments ask for: a plain twin, images of no class, and copies to change."""

import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import codednet
from codednet.experiments import Against, Result, Subject, find, result
from codednet.experiments.cost import CostOptions
from codednet.runs import Collected, RunFolder, open_run

# Of those that take the time they are given, or promise more than forty images can show.
QUICK: dict[str, dict[str, Any]] = {
    "cost": {"seconds": 0.01, "batch": 2},
    "exits": {"risk": 0.3, "delta": 0.5, "rounds": 4},
    "calibration": {"splits": 3},
}


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Tensors this small gain nothing from threads, and lose much to them on a busy machine."""
    torch.set_num_threads(1)


def copied(run: Path, to: Path) -> RunFolder:
    return open_run(shutil.copytree(run, to, ignore=shutil.ignore_patterns("checkpoints")))


@pytest.fixture(scope="session")
def copy_run(finished_run: Path) -> Callable[[Path], RunFolder]:
    """The finished run, copied to a place of one's own."""
    return lambda to: copied(finished_run, to)


@pytest.fixture
def run(finished_run: Path, tmp_path: Path) -> RunFolder:
    """A copy that the test may change."""
    return copied(finished_run, tmp_path / "run")


@pytest.fixture
def twin(twin_run: Path, tmp_path: Path) -> RunFolder:
    """A copy that the test may change."""
    return copied(twin_run, tmp_path / "twin")


@pytest.fixture(scope="session")
def subject(finished_run: Path, twin_run: Path, noise: Path, tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """The run beside its twin and against noise; tests only read it."""
    folder = copied(finished_run, tmp_path_factory.mktemp("subject") / "run")
    return Subject(folder, baseline=open_run(twin_run), against=[Against(name=str(noise))], device="cpu")


@pytest.fixture(scope="session")
def results(subject: Subject) -> Callable[[str], Result[Any]]:
    """The result of an experiment by its name, measured once for all tests."""
    known: dict[str, Result[Any]] = {}

    def of(name: str) -> Result[Any]:
        if name not in known:
            experiment = find(name)
            known[name] = result(experiment, subject, experiment.options(**QUICK.get(name, {})))
        return known[name]

    return of


@pytest.fixture(scope="session")
def record(results: Callable[[str], Result[Any]]) -> Callable[[str], Any]:
    """The record of an experiment by its name."""
    return lambda name: results(name).record


@pytest.fixture(scope="session")
def tested(subject: Subject) -> Collected:
    """What the network says of the test split."""
    return subject.collected("test")


@pytest.fixture(scope="session")
def test_batch(subject: Subject) -> tuple[torch.Tensor, torch.Tensor]:
    """All test images at once, and their labels."""
    batches = list(subject.loader("test"))
    return torch.cat([one.images for one in batches]), torch.cat([one.labels for one in batches])


@pytest.fixture
def usual_cost() -> CostOptions:
    """As quick as it can be timed."""
    return CostOptions(**QUICK["cost"])


@pytest.fixture(scope="module")
def hard(finished_run, tmp_path_factory) -> Subject:
    """The run beside pictures whose colours it takes for each other."""
    folder, draw = tmp_path_factory.mktemp("hard"), np.random.default_rng(0)
    for split, label, number in product(("train", "test"), range(10), range(16)):
        file = folder / "pictures" / split / f"class{label}" / f"{number}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        colour = np.array([label * 25, 250 - label * 25, (label * 70) % 256]) + draw.normal(0, 25, 3)
        Image.fromarray((colour + draw.integers(-40, 40, (20, 20, 3))).clip(0, 255).astype(np.uint8)).save(file)
    run = copied(finished_run, folder / "run")
    return Subject(run, root=str(folder / "pictures"), device="cpu")


@pytest.fixture(scope="module")
def loud(finished_run, twin_run, tmp_path_factory) -> Subject:
    """The run with coded blocks that are heard, and any classifier: of so short a training little hangs on a branch."""
    folder = copied(finished_run, tmp_path_factory.mktemp("loud") / "run")
    model = folder.load_model()
    with torch.no_grad():
        for _, block in model.named_blocks():
            block.bn3.weight[:] = 1 if block.is_coded else block.bn3.weight
        model.fc.weight[:] = torch.randn(model.fc.weight.shape, generator=torch.Generator().manual_seed(0))
    codednet.save(model, folder.model)
    return Subject(folder, baseline=open_run(twin_run), device="cpu")
