from collections.abc import Callable

import pytest
import torch
from torch import nn

from codednet.models import CodedResNeXt, create_model


def enliven(network: nn.Module) -> nn.Module:
    """Batch norms as after training: fresh ones are the identity, and the last of a block is zero."""
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.weight.normal_(1, 0.2)
                module.bias.normal_(0, 0.2)
                module.running_mean.normal_(0, 0.2)
                module.running_var.uniform_(0.5, 1.5)
    return network


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Tensors this small gain nothing from threads, and lose much to them on a busy machine."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.fixture
def lively() -> Callable[[nn.Module], nn.Module]:
    return enliven


@pytest.fixture
def small() -> CodedResNeXt:
    return enliven(create_model("coded_resnext20_10x4d")).eval()


@pytest.fixture
def images() -> torch.Tensor:
    return torch.randn(3, 3, 16, 16)
