"""What a network costs, all of it together: a share of the parameters alone says little about time."""

from dataclasses import dataclass

import torch
from torch import Tensor

from codednet.measure import Latency, inference, measure_latency, multiply_adds
from codednet.models import CodedResNeXt


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Cost of a network on this machine, with torch's present number of threads."""

    parameters: int
    multiply_adds: int
    """Of one image."""
    bytes: int
    """Of its weights in a file."""
    latency: Latency
    """Seconds of one image."""


def measure_cost(network: CodedResNeXt, image: Tensor, *, rounds: int = 20) -> Cost:
    """Cost of one image of shape (1, channels, height, width); leaves the network in evaluation mode."""
    call = inference(network, image)
    call()
    with torch.inference_mode():
        products = multiply_adds(lambda: network(image))
    return Cost(
        parameters=sum(parameter.numel() for parameter in network.parameters()),
        multiply_adds=products,
        bytes=sum(tensor.nbytes for tensor in network.state_dict().values()),
        latency=measure_latency(call, rounds=rounds, device=image.device),
    )
