"""The network of some classes alone, cut out of a trained one: plain smaller convolutions, no further training."""

import copy
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from codednet.errors import CodednetError
from codednet.models import CodedResNeXt, NetworkConfig
from codednet.models.config import BlockConfig
from codednet.models.preprocessing import preprocessing
from codednet.paths.classes import Classes, class_indices
from codednet.paths.plan import cut_config

# Hidden channels of a block belong to its branches; along which axis a tensor of the block has them.
_NORM = ("weight", "bias", "running_mean", "running_var")
_HIDDEN_AXIS = {"conv1.weight": 0, "conv2.weight": 0, "conv3.weight": 1} | {
    f"{norm}.{entry}": 0 for norm in ("bn1", "bn2") for entry in _NORM
}


def extract(model: nn.Module, classes: Classes, codes: Any = None) -> CodedResNeXt:
    """Smaller, independent network of these classes: the branches of their words, one logit each in the order given.

    Classes are names or indices; `model` stays as it is. Energies keep referring to the original number of branches,
    so the result equals `model` with the other branches masked, and can be saved, trained or cut again like any other.
    The mode (training or evaluation), device and precision are the model's. `codes` cut a plain network, as a control.
    """
    network = as_network(model)
    chosen = class_indices(network.config, classes)
    config = cut_config(network.config, chosen, codes)
    # Fresh weights are drawn and replaced: the caller's random numbers must not depend on that.
    with torch.random.fork_rng(devices=[]):
        part = CodedResNeXt(config)
    device = next(network.parameters()).device
    part.to(device).load_state_dict(cut_state(network, config, chosen), assign=True)
    if device.type == "cpu":
        # Slices come in the model's layout; on a CPU a cut network is fast in this one alone.
        part.to(memory_format=torch.channels_last)
    for parameter, whole in zip(part.parameters(), network.parameters(), strict=True):
        parameter.requires_grad_(whole.requires_grad)
    part.pretrained_cfg = preprocessing(config, copy.deepcopy(network.pretrained_cfg))
    part.set_grad_checkpointing(network.grad_checkpointing)
    return part.train(network.training)


def as_network(model: nn.Module) -> CodedResNeXt:
    """The model, if it is a network whose branches are known."""
    if not isinstance(model, CodedResNeXt):
        raise CodednetError(
            f"only networks of codednet.create_model have class paths; got {type(model).__name__}. "
            "Give the network itself, not a wrapped or compiled one."
        )
    return model


def cut_state(model: CodedResNeXt, config: NetworkConfig, classes: Sequence[int]) -> dict[str, Tensor]:
    """Copies of the model's weights, sliced to the branches of `config` and these classes' rows of the classifier."""
    whole = model.state_dict()
    cut: dict[str, Tensor] = {}
    for (name, block), (_, smaller) in zip(model.config.blocks(), config.blocks(), strict=True):
        channels = hidden_channels(block, smaller.branches)
        cut |= {f"{name}.{key}": _take(whole[f"{name}.{key}"], axis, channels) for key, axis in _HIDDEN_AXIS.items()}
    for key in ("fc.weight", "fc.bias"):
        if key in whole:
            cut[key] = whole[key][list(classes)]
    return {key: cut[key] if key in cut else value.clone() for key, value in whole.items()}


def hidden_channels(block: BlockConfig, branches: Sequence[int]) -> Int[Tensor, " channels"]:
    """Channels of a block's hidden tensor that belong to these branches, which must be among the block's."""
    places = torch.tensor([block.branches.index(branch) for branch in branches])
    return (places[:, None] * block.width + torch.arange(block.width)).flatten()


def _take(whole: Tensor, axis: int, places: Tensor) -> Tensor:
    part = whole.index_select(axis, places.to(whole.device))
    # index_select forgets channels_last, and with it the kernels that the whole network runs on.
    if whole.ndim == 4 and whole.is_contiguous(memory_format=torch.channels_last):
        part = part.contiguous(memory_format=torch.channels_last)
    return part
