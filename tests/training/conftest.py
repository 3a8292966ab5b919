from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Tensors this small gain nothing from threads, and lose much to them on a busy machine."""
    torch.set_num_threads(1)


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
