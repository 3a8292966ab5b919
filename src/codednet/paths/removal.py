"""Branch removal: accuracy with k active, or k inactive, branches of one block gone (section "Specialization").

The prefix up to a block is evaluated once a batch, for all blocks and all k; so are the block's hidden tensor and its
shortcut.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from codednet.errors import CodednetError
from codednet.models import CodedResNeXt, Step
from codednet.models.block import CodedBottleneck
from codednet.paths.blocks import coded_place, logits_after
from codednet.paths.evaluation import evaluating
from codednet.paths.extract import as_network


@dataclass(frozen=True, kw_only=True)
class RemovalCurve:
    """Accuracy of the whole network with branches of one block removed."""

    block: str
    images: int
    """Images measured on."""
    active: tuple[float, ...]
    """By how many branches are removed of those active for the image's class, from none to all of them."""
    inactive: tuple[float, ...]
    """By how many branches are removed of the others, from none to all of them."""


@dataclass(frozen=True, kw_only=True)
class _Count:
    """Images that are still labelled rightly, by number of branches removed."""

    active: NDArray[np.int64]
    inactive: NDArray[np.int64]


def removal_curve(
    model: nn.Module, batches: Iterable[tuple[Tensor, Tensor]], block: str, *, seed: int = 0
) -> RemovalCurve:
    """Accuracy without k branches of a coded block, for every k; see `removal_curves`."""
    return removal_curves(model, batches, [block], seed=seed)[0]


def removal_curves(
    model: nn.Module,
    batches: Iterable[tuple[Tensor, Tensor]],
    blocks: Sequence[str] | None = None,
    *,
    seed: int = 0,
) -> tuple[RemovalCurve, ...]:
    """Accuracy without k branches of one coded block, for every k and each of these blocks; all blocks by default.

    `batches` give images and labels. Which branches go is drawn for every image from the seed, the block and the
    image's place among all images, so that batch size does not matter; those that go for k go for k + 1 too.
    """
    network = as_network(model)
    counts = {name: _zeros(network, name) for name in (network.coded_blocks if blocks is None else blocks)}
    if not counts:
        raise CodednetError("removal curves need at least one coded block; got none.")
    device, seen = next(network.parameters()).device, 0
    with evaluating(network):
        for images, labels in batches:
            _check(network, images, labels)
            _count_batch(network, images.to(device), labels.to(device), counts, (seed, seen))
            seen += len(labels)
    if not seen:
        raise CodednetError("removal curves need at least one image; the batches gave none.")
    return tuple(
        RemovalCurve(
            block=name,
            images=seen,
            active=tuple((count.active / seen).tolist()),
            inactive=tuple((count.inactive / seen).tolist()),
        )
        for name, count in counts.items()
    )


def draws(seed: int, block: int, first: int, shape: tuple[int, int]) -> NDArray[np.float64]:
    """Random numbers (images, branches) that depend on the seed, the block and each image's own place alone."""
    images, branches = shape
    rows = [np.random.default_rng((seed, block, first + row)).random(branches) for row in range(images)]
    return np.array(rows).reshape(shape)


def removal_ranks(
    candidates: Bool[Tensor, "batch branches"], drawn: Float[Tensor, "batch branches"]
) -> Int[Tensor, "batch branches"]:
    """How many candidates go before this one, in the order drawn; branches that are no candidates come last."""
    return torch.where(candidates, drawn, 2.0).argsort(dim=1).argsort(dim=1)


def _count_batch(
    network: CodedResNeXt, images: Tensor, labels: Tensor, counts: Mapping[str, _Count], place: tuple[int, int]
) -> None:
    words = dict(zip(network.coded_blocks, network.words, strict=True))
    x, (seed, first) = images, place
    for step in network.walk(images):
        if step.name in counts:
            active = words[step.name][labels].bool()
            drawn = torch.tensor(draws(seed, step.index, first, (len(labels), active.shape[1])), device=images.device)
            _count_block(network, step, labels, counts[step.name], active, drawn)
        x = step.finish()
    whole = _right(network.forward_head(x), labels)
    for count in counts.values():
        count.active[0] += whole
        count.inactive[0] += whole


def _count_block(
    network: CodedResNeXt, step: Step, labels: Tensor, count: _Count, active: Tensor, drawn: Tensor
) -> None:
    block = step.block
    assert isinstance(block, CodedBottleneck)
    shortcut = block.shortcut(step.input)
    for candidates, right in ((active, count.active), (~active, count.inactive)):
        ranks = removal_ranks(candidates, drawn)
        for k in range(1, len(right)):
            total = block.conv3.project(step.hidden, block.read(step.hidden, ranks >= k).scale)
            right[k] += _right(logits_after(network, step.index, block.add(total, shortcut)), labels)


def _right(logits: Tensor, labels: Tensor) -> int:
    return int((logits.argmax(1) == labels).sum())


def _zeros(network: CodedResNeXt, block: str) -> _Count:
    code = network.codes[coded_place(network, block)]
    rest = code.num_branches - code.active
    return _Count(active=np.zeros(code.active + 1, dtype=np.int64), inactive=np.zeros(rest + 1, dtype=np.int64))


def _check(network: CodedResNeXt, images: Tensor, labels: Tensor) -> None:
    if labels.shape != images.shape[:1] or labels.is_floating_point():
        raise CodednetError(
            f"labels must be whole numbers, one an image: {len(images)} images came with labels of shape "
            f"{tuple(labels.shape)}, {labels.dtype}."
        )
    if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < network.num_classes:
        raise CodednetError(
            f"labels must be from 0 to {network.num_classes - 1}; got {int(labels.min())} to {int(labels.max())}."
        )
