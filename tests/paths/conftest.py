from collections.abc import Callable
from functools import cache

import pytest
import torch

import codednet
from codednet.models import CodedResNeXt

NAMES = ("ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibis", "jay")


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Tensors this small gain nothing from threads, and lose much to them on a busy machine."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@cache
def after_steps(name: str, size: int, **options: object) -> CodedResNeXt:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = codednet.create_model(name, **options).train()
        for module in model.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                # Otherwise a block's last one starts at zero, and branches would hardly count.
                torch.nn.init.normal_(module.weight, 1, 0.2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
        labels = torch.arange(8) % model.num_classes
        for _ in range(3):
            optimizer.zero_grad()
            trace = model.trace(torch.randn(8, model.in_chans, size, size) * 2 - 0.5)
            loss = torch.nn.functional.cross_entropy(trace.logits, labels)
            if model.codes:
                loss = codednet.total_loss(trace, labels, model.codes, mu=1.0)
            loss.backward()
            optimizer.step()
    optimizer.zero_grad()
    return model.eval()


@pytest.fixture(scope="session")
def trained() -> Callable[..., CodedResNeXt]:
    """Networks after a few steps on noise: no batch norm is at its initial values. Tests must not change them."""
    return after_steps


@pytest.fixture(scope="session")
def small() -> CodedResNeXt:
    return after_steps("coded_resnext20_10x4d", 16, class_names=NAMES)


@pytest.fixture(scope="session")
def plain() -> CodedResNeXt:
    return after_steps("resnext20_10x4d", 16, class_names=NAMES)


@pytest.fixture
def images() -> torch.Tensor:
    return torch.randn(5, 3, 16, 16)
