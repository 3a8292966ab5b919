from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from codednet.data import Data, DataConfig, open_data


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def mini() -> Callable[..., Data]:
    """fashion-mini, opened with the given fields of its config."""

    def opened(in_chans: int | None = None, **fields: object) -> Data:
        return open_data(DataConfig(**fields), in_chans)

    return opened


@pytest.fixture
def photo() -> Callable[..., Image.Image]:
    """A smooth picture; another seed, another one."""

    def made(seed: int = 0, width: int = 24, height: int = 20, mode: str = "RGB") -> Image.Image:
        rough = np.random.default_rng(seed).integers(0, 256, (5, 6, 3), dtype=np.uint8)
        return Image.fromarray(rough).resize((width, height), Image.Resampling.BICUBIC).convert(mode)

    return made


@pytest.fixture
def folders(tmp_path: Path, photo: Callable[..., Image.Image]) -> Path:
    """train/ with 6 cats and 9 dogs, val/ with 3 of each."""
    seed = 0
    for part, counts in (("train", {"cat": 6, "dog": 9}), ("val", {"cat": 3, "dog": 3})):
        for name, count in counts.items():
            (tmp_path / part / name).mkdir(parents=True)
            for number in range(count):
                photo(seed).save(tmp_path / part / name / f"{number}.png")
                seed += 1
    return tmp_path
