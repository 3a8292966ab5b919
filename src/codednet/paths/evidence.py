"""Evidence maps: where in the image the path of a class is active, read off branch energies without gradients."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from codednet.errors import CodednetError
from codednet.models import CodedResNeXt
from codednet.nn.energy import branch_grams
from codednet.nn.grouped import branch_product
from codednet.paths.blocks import coded_place
from codednet.paths.classes import Classes, as_list, class_indices
from codednet.paths.evaluation import evaluating
from codednet.paths.extract import as_network


def evidence_map(model: nn.Module, images: Tensor, block: str, classes: Classes) -> Float[Tensor, "batch height width"]:
    """Energy of a class's branches at each position of a coded block, before the normalisation.

    `classes` is one class for all images, or one for each. The sum over positions, were all branches of the word, is
    the mean square of the block's branch outputs (equation 2), summed over branches.
    """
    network = as_network(model)
    place = coded_place(network, block)
    labels = _labels(network, classes, len(images))
    with evaluating(network):
        step = next(step for step in network.walk(images) if step.name == block)
        weight = step.block.conv3.weight
        branches = step.block.config.branches
        maps = branch_maps(step.hidden, weight, len(branches))
        words = network.words[place][labels.to(maps.device)][:, list(branches)]
        return torch.einsum("bnhw,bn->bhw", maps, words.to(maps.dtype))


def branch_maps(
    u: Float[Tensor, "batch channels height width"], weight: Float[Tensor, "out channels 1 1"], branches: int
) -> Float[Tensor, "batch branches height width"]:
    """Energy of every branch at every position, u_n^T W_n^T W_n u_n / (C H W); summed over positions, equation 2."""
    products = u * branch_product(u, branch_grams(weight, branches))
    values = weight.shape[0] * u.shape[2] * u.shape[3]
    # Rounding can leave the energy of a near-silent branch slightly below zero.
    sums = products.view(len(u), branches, -1, *u.shape[2:]).sum(2, dtype=torch.float32)
    return sums.clamp_min(0) / values


def _labels(network: CodedResNeXt, classes: Classes, images: int) -> Tensor:
    labels = [class_indices(network.config, one)[0] for one in as_list(classes)]
    if len(labels) not in (1, images):
        raise CodednetError(f"classes must be one for all images or one for each of the {images}; got {len(labels)}.")
    return torch.tensor(labels).expand(images)
