"""Controls: the network along words that are not its own, and a plain network along words that it never heard of."""

from dataclasses import replace

import torch

from codednet.models import CodedResNeXt
from codednet.models.config import NetworkConfig
from codednet.models.variants import TWINS, make_config


def shuffled(model: CodedResNeXt) -> CodedResNeXt:
    """The same network with every class given the word of the next, and the last that of the first, in every block."""
    config = model.config
    order = [*range(1, config.num_classes), 0]
    return with_weights(replace(config, codes=tuple(code.reordered(order) for code in config.codes)), model)


def along_words(plain: CodedResNeXt, coded: NetworkConfig | None = None) -> CodedResNeXt:
    """A plain network as one with coded blocks that normalise nothing: the same function, its energies read.

    Words are those of `coded`, or those that the plain network's coded variant has for so many classes.
    """
    config = plain.config
    if coded is None:
        coded = make_config(
            TWINS[config.architecture],
            config.num_classes,
            config.in_chans,
            config.class_names,
            shortcut=config.shortcut,
        )
    return with_weights(replace(coded, normalise=False), plain)


def with_weights(config: NetworkConfig, model: CodedResNeXt) -> CodedResNeXt:
    """Network of this config with the weights of another of the same shape, in evaluation mode."""
    with torch.random.fork_rng(devices=[]):
        network = CodedResNeXt(config)
    network.load_state_dict(model.state_dict())
    network.pretrained_cfg = dict(model.pretrained_cfg)
    return network.to(next(model.parameters()).device).eval()
