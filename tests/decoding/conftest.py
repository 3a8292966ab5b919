"""A coded network that has learnt something, and what it says of images it has not seen."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import codednet
from codednet.models import CodedResNeXt
from codednet.runs import Collected

SIZE = 12


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Tensors this small gain nothing from threads, and lose much to them on a busy machine."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def draw_images(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Ten patterns under noise, heavy enough that early decoders, joint decoder and network err."""
    patterns = torch.randn(10, 1, SIZE, SIZE, generator=torch.Generator().manual_seed(7))
    draw = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % 10
    strength = 0.2 + 1.2 * torch.rand(count, 1, 1, 1, generator=draw)
    return patterns[labels] * strength + torch.randn(count, 1, SIZE, SIZE, generator=draw), labels


@pytest.fixture(scope="session")
def model() -> CodedResNeXt:
    """Trained for seconds; tests must not change it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = codednet.create_model("coded_resnext20_10x4d", in_chans=1)
        network.train().to(memory_format=torch.channels_last)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
        for step in range(30):
            images, labels = draw_images(40, 100 + step)
            trace = network.trace(images)
            optimizer.zero_grad()
            codednet.total_loss(trace, labels, network.codes, mu=2.0).backward()
            optimizer.step()
    optimizer.zero_grad()
    return network.eval()


@pytest.fixture(scope="session")
def seen(model: CodedResNeXt) -> Callable[[int, int], Collected]:
    """Images drawn by count and seed as `collect` would give them; no two seeds share an image."""

    def collected(count: int, seed: int) -> Collected:
        images, labels = draw_images(count, seed)
        with torch.no_grad():
            trace = model.trace(images)
        indices = torch.arange(count) + 100_000 * seed
        return Collected(trace.logits, list(trace.energies), labels, indices, ())

    return collected


@pytest.fixture(scope="session")
def pool() -> Tensor:
    """Images of no split."""
    return draw_images(257, 5)[0]


@pytest.fixture(scope="session")
def fit(seen) -> Collected:
    return seen(400, 1)


@pytest.fixture(scope="session")
def risk(seen) -> Collected:
    return seen(500, 2)
