"""Sizes: parameters by stage, multiply-adds, and what the path of one class takes of a network."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from codednet.models.config import NetworkConfig
from codednet.models.network import CodedResNeXt


class Size(NamedTuple):
    """What a network weighs."""

    parameters: int
    multiply_adds: int
    """Of one image."""


def parameters_by_stage(model: CodedResNeXt) -> dict[str, int]:
    """Parameters of the stem, each stage and the classifier, in order of depth."""
    counts = {"stem": _count(model.conv1) + _count(model.bn1)}
    counts |= {name: _count(stage) for name, stage in model.named_children() if name.startswith("layer")}
    return counts | {"fc": _count(model.fc)}


def network_size(config: NetworkConfig, image_size: int) -> Size:
    """Parameters and multiply-adds of the network that a config describes, counted on its modules."""
    with torch.random.fork_rng(devices=[]):
        model = CodedResNeXt(config).eval()
    image = torch.zeros(1, config.in_chans, image_size, image_size)
    return Size(_count(model), multiply_adds(model, image))


def multiply_adds(model: nn.Module, image: torch.Tensor) -> int:
    """Multiply-adds of a pass over the image, by torch's flop counter."""
    counter = FlopCounterMode(display=False)
    with torch.no_grad():
        # Evaluated layers remember what depends on their weights alone: the first pass pays for that, others do not.
        model(image)
        with counter:
            model(image)
    # torch counts a multiplication and an addition as two.
    return counter.get_total_flops() // 2


def class_path_sizes(config: NetworkConfig, image_size: int) -> Iterator[Size]:
    """Size of each class's own network, cut out along its path, its projection shortcuts counted."""
    known: dict[tuple[int, ...], Size] = {}
    for label in range(config.num_classes):
        path = config.narrowed([label])
        shape = tuple(len(block.branches) for _, block in path.blocks())
        if shape not in known:
            known[shape] = network_size(path, image_size)
        yield known[shape]


def _count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
