import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from PIL import Image

# Codes made by tests never land in the user's cache, and no test waits for a hub.
os.environ["HF_HUB_OFFLINE"] = "1"

settings.register_profile("quick", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of pictures whose classes differ in colour: ten classes, 12 to train and 4 to test in each."""
    root = tmp_path_factory.mktemp("pictures")
    draw = np.random.default_rng(0)
    for split, count in (("train", 12), ("test", 4)):
        for label in range(10):
            folder = root / split / f"class{label}"
            folder.mkdir(parents=True)
            for number in range(count):
                colour = np.array([label * 25, 250 - label * 25, (label * 70) % 256])
                pixels = (colour + draw.integers(-40, 40, (20, 20, 3))).clip(0, 255).astype(np.uint8)
                Image.fromarray(pixels).save(folder / f"{number}.png")
    return root


@pytest.fixture(scope="session")
def quick(pictures: Path) -> list[str]:
    """Options that make a training of seconds of any recipe."""
    return [
        "--data.name=imagefolder",
        f"--data.root={pictures}",
        "--data.image-size=16",
        "--data.test-size=16",
        "--data.workers=0",
        "--data.randaugment=rand-m4-n2",
        "--data.tune=0.35",
        "--optim.epochs=3",
        "--optim.batch=8",
        "--optim.warmup-epochs=0.5",
        "--machine.precision=float32",
        "--machine.threads=1",
        "--machine.device=cpu",
        "--machine.tensorboard=false",
    ]


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory, quick: list[str]) -> Path:
    """A short training on the pictures that came to its end; tests leave it as it is, or copy it."""
    run = tmp_path_factory.mktemp("finished") / "run"
    command = [sys.executable, "-m", "codednet", "train", "fashion-mini", "-o", str(run), *quick]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return run


@pytest.fixture(scope="session")
def twin_run(tmp_path_factory: pytest.TempPathFactory, quick: list[str]) -> Path:
    """The plain twin of `finished_run`, trained on the same pictures."""
    run = tmp_path_factory.mktemp("plain") / "run"
    options = [*quick, "--model.coded=false", "--optim.epochs=2"]
    command = [sys.executable, "-m", "codednet", "train", "fashion-mini", "-o", str(run), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return run


@pytest.fixture(scope="session")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of images of no class."""
    folder = tmp_path_factory.mktemp("strangers") / "noise"
    folder.mkdir()
    draw = np.random.default_rng(3)
    for number in range(12):
        Image.fromarray(draw.integers(0, 256, (20, 20, 3), np.uint8)).save(folder / f"{number}.png")
    return folder
