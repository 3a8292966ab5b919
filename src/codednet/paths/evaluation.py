"""Evaluation mode for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from codednet.models import CodedResNeXt


@contextmanager
def evaluating(network: CodedResNeXt) -> Iterator[None]:
    """The network in evaluation mode and without gradients; its mode is given back."""
    training = network.training
    if training:
        network.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        if training:
            network.train()
