"""Scores of all detectors in one sweep: what does not depend on the class is evaluated once a batch.

That is the uncoded prefix, and of the first block that is cut its hidden tensor and its shortcut.
"""

import copy
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from codednet.models import CodedResNeXt, Step
from codednet.nn.projection import Projected
from codednet.paths.blocks import logits_after
from codednet.paths.classes import Classes, class_indices
from codednet.paths.extract import as_network, extract, hidden_channels

# Bytes of one-class networks that a sweep holds ready; those beyond are cut again for every batch.
HELD_BYTES = 2 << 30


def detector_scores(model: nn.Module, images: Tensor, codes: Any = None) -> Float[Tensor, "batch classes"]:
    """Score of every class's detector: the logit of its extracted network. For many batches, keep a `DetectorSweep`."""
    return DetectorSweep(model, codes=codes)(images)


class DetectorSweep:
    """One-class networks of a model, as it was when this was made, evaluated together in evaluation mode.

    `classes` are all by default; `codes` make detectors of a plain network, as in `extract`.
    """

    def __init__(
        self,
        model: nn.Module,
        classes: Classes | None = None,
        codes: Any = None,
        held_bytes: int = HELD_BYTES,
    ) -> None:
        self._whole = copy.deepcopy(as_network(model)).eval()
        if next(self._whole.parameters()).device.type == "cpu":
            self._whole.to(memory_format=torch.channels_last)
        everyone = range(self._whole.config.num_classes)
        self.classes = class_indices(self._whole.config, everyone if classes is None else classes)
        self._codes = codes
        self._held: dict[int, CodedResNeXt] = {}
        self._room = held_bytes
        self._first = _first_cut(self._whole, self._network(self.classes[0]))

    @torch.no_grad()
    def __call__(
        self, images: Float[Tensor, "batch channels height width"], wanted: Bool[Tensor, "batch classes"] | None = None
    ) -> Float[Tensor, "batch classes"]:
        """Scores of the images, a column a class; NaN, and not evaluated, where they are not `wanted`."""
        shared = self._shared(images)
        hidden, shortcut = shared.hidden, shared.block.shortcut(shared.input)
        if wanted is None:
            columns = [self._score(self._network(label), shared, hidden, shortcut) for label in self.classes]
            return torch.cat(columns, dim=1)
        found = torch.full(wanted.shape, torch.nan, dtype=hidden.dtype, device=hidden.device)
        for column, label in enumerate(self.classes):
            rows = wanted[:, column].nonzero()[:, 0].to(hidden.device)
            if len(rows):
                network = self._network(label)
                found[rows, column] = self._score(network, shared, hidden[rows], shortcut[rows])[:, 0]
        return found

    def _shared(self, images: Tensor) -> Step:
        """The first block that is cut, about to be finished."""
        for step in self._whole.walk(images):
            if step.name == self._first:
                return step
        raise AssertionError(self._first)

    def _score(self, network: CodedResNeXt, shared: Step, hidden: Tensor, shortcut: Tensor) -> Tensor:
        blocks = list(network.named_blocks())
        block = blocks[shared.index][1]
        channels = hidden_channels(shared.block.config, block.config.branches)
        total = block.conv3(take_channels(hidden, channels.to(hidden.device)))
        x = block.add(total.output if isinstance(total, Projected) else total, shortcut)
        return logits_after(network, shared.index, x)

    def _network(self, label: int) -> CodedResNeXt:
        if label in self._held:
            return self._held[label]
        network = extract(self._whole, label, self._codes)
        size = sum(parameter.nbytes for parameter in network.parameters())
        if size <= self._room:
            self._held[label] = network
            self._room -= size
        return network


def take_channels(
    u: Float[Tensor, "batch channels height width"], channels: Int[Tensor, " taken"]
) -> Float[Tensor, "batch taken height width"]:
    """These channels, in the memory format of the whole."""
    if u.is_contiguous(memory_format=torch.channels_last):
        return u.movedim(1, -1).index_select(-1, channels).movedim(-1, 1)
    return u.index_select(1, channels)


def _first_cut(whole: CodedResNeXt, part: CodedResNeXt) -> str:
    """Name of the first block of which only some branches stay; the last block's where all do."""
    pairs = zip(whole.named_blocks(), part.named_blocks(), strict=True)
    names = [name for (name, block), (_, cut) in pairs if block.config.branches != cut.config.branches]
    return names[0] if names else list(whole.named_blocks())[-1][0]
