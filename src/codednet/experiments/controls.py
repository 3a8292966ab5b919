"""Controls: the network along words that are not its own, and a plain network along words that it never heard of."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from codednet.codes import Code
from codednet.models import CodedResNeXt
from codednet.models.config import NetworkConfig
from codednet.models.variants import TWINS, make_config


def shuffled(model: CodedResNeXt) -> CodedResNeXt:
    """The same network with every class given the word of another, as many places further on for all.

    Of all numbers of places the one whose words share the fewest branches with the classes' own: a code may be ordered
    so that neighbours share many, and a control should not know the way.
    """
    config = model.config
    places = min(range(1, config.num_classes), key=lambda one: shared_branches(config.codes, one))
    order = [(at + places) % config.num_classes for at in range(config.num_classes)]
    return with_weights(replace(config, codes=tuple(code.reordered(order) for code in config.codes)), model)


def shared_branches(codes: Sequence[Code], places: int) -> int:
    """Branches that classes share with the class so many places further on, in all codes together."""
    return sum(int((code.words & np.roll(code.words, -places, axis=0)).sum()) for code in codes)


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
