"""Exits that stop: block by block, decided images leave before a block's last convolution, and the rest are packed."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from codednet.decoding.joint import JointDecoder
from codednet.errors import CodednetError
from codednet.models import CodedResNeXt
from codednet.models.block import CodedBottleneck
from codednet.nn.decode import nearest_codeword
from codednet.nn.projection import Reading

NEVER = 2.0
"""A threshold that no posterior reaches."""


class Staged(NamedTuple):
    """Every image answered once, in the order in which they came; on the CPU, but for the logits."""

    labels: Int[Tensor, " batch"]
    confidence: Float[Tensor, " batch"]
    """Posterior of the label: of the joint decoder where an image left, by softmax of its logits where it did not."""
    exits: Int[Tensor, " batch"]
    """Which look an image left at, from 0; the number of looks where it went through."""
    agreeing: Int[Tensor, " batch"]
    """Blocks read on the way whose nearest word names the label."""
    through: Int[Tensor, " through"]
    """Places of the images that went through the whole network."""
    logits: Float[Tensor, "through classes"]
    """Their logits."""


class StagedRunner:
    """A network that lets images go when the joint decoder is sure of them.

    `thresholds` is the least posterior that an image leaves with: one number, or one for each block that is read.
    `temperature` divides the logits of images that go through, for their confidence alone. The network is used as it
    is, in evaluation mode, and blocks that are not read run as they always do.
    """

    def __init__(
        self,
        model: CodedResNeXt,
        decoder: JointDecoder,
        thresholds: float | Sequence[float],
        temperature: float = 1.0,
        count_agreeing: bool = False,
    ) -> None:
        if decoder.blocks[-1] >= len(model.coded_blocks) or decoder.num_classes != model.num_classes:
            raise CodednetError(
                f"the decoder must be fitted for the network: it reads coded block {decoder.blocks[-1]}, counted from "
                f"0, for {decoder.num_classes} classes; the network has {len(model.coded_blocks)} coded blocks and "
                f"{model.num_classes} classes."
            )
        limits = [thresholds] * len(decoder.blocks) if isinstance(thresholds, int | float) else list(thresholds)
        if len(limits) != len(decoder.blocks):
            raise CodednetError(
                f"there must be one threshold, or one for each of the {len(decoder.blocks)} blocks that are read; "
                f"got {len(limits)}."
            )
        self.model = model
        self.decoder = decoder.to(model.conv1.weight.device)
        self.thresholds = tuple(float(limit) for limit in limits)
        self.temperature = temperature
        self.names = tuple(model.coded_blocks[block] for block in decoder.blocks)
        self._blocks = list(model.named_blocks())
        self._looks = {name: look for look, name in enumerate(self.names)}
        words = model.words
        self._words = [words[block].float() for block in decoder.blocks] if count_agreeing else None

    def __call__(self, images: Float[Tensor, "batch channels height width"]) -> Staged:
        """Labels, and where each image left."""
        if self.model.training:
            raise CodednetError("exits need a network in evaluation mode: call model.eval() first.")
        with torch.no_grad():
            return self._run(images)

    def _run(self, images: Tensor) -> Staged:
        answers = _Answers(len(images), len(self.names))
        seen: Tensor | None = None
        votes: list[Tensor] = []
        x = self.model.stem(images)
        for name, block in self._blocks:
            look = self._looks.get(name)
            if look is None:
                x = block(x)
                continue
            assert isinstance(block, CodedBottleneck)
            u = block.hidden(x)
            # Nothing is removed, so all branches of an image have one factor; a column of it is quicker to apply.
            reading = block.read(u)
            scale = reading.scale[:, :1]
            seen = self.decoder.see(seen, reading.energies)
            if self._words is not None:
                votes.append(nearest_codeword(reading.energies, self._words[look]))
            sure = self.decoder.scores(look, seen).softmax(1).max(1)
            leaves = sure.values.cpu().numpy() >= self.thresholds[look]
            if leaves.any():
                answers.put(leaves, sure.indices, sure.values, votes, look)
                if leaves.all():
                    return answers.done(x.new_empty(0, self.model.num_classes))
                stay = torch.from_numpy(np.flatnonzero(~leaves)).to(x.device)
                seen, votes = seen[stay], [vote[stay] for vote in votes]
                x, u, scale = rows(x, stay), rows(u, stay), scale[stay]
            x = block.finish(x, u, Reading(reading.energies, scale))
            del u  # memory that is still warm goes to the next block
        logits = self.model.forward_head(x)
        sure = (logits / self.temperature).softmax(1).max(1)
        answers.put(None, sure.indices, sure.values, votes, len(self.names))
        return answers.done(logits)


class _Answers:
    """Answers of a batch, put in as images leave. In NumPy: on so few numbers an operation of torch costs more."""

    def __init__(self, batch: int, looks: int) -> None:
        self._looks = looks
        self._here = np.arange(batch)
        self._labels, self._exits, self._agreeing = np.zeros((3, batch), np.int64)
        self._confidence = np.zeros(batch, np.float32)

    def put(
        self, leaves: NDArray[np.bool_] | None, labels: Tensor, confidence: Tensor, votes: Sequence[Tensor], look: int
    ) -> None:
        """Answer those images, of the ones on the way, that leave; all of them where `leaves` is None."""
        named = labels.cpu().numpy()
        agreeing = sum((vote.cpu().numpy() == named).astype(np.int64) for vote in votes)
        places = self._here
        if leaves is not None:
            places, self._here = places[leaves], places[~leaves]
        these = slice(None) if leaves is None else leaves
        self._labels[places] = named[these]
        self._confidence[places] = confidence.cpu().numpy()[these]
        self._exits[places] = look
        if votes:
            self._agreeing[places] = np.asarray(agreeing)[these]

    def done(self, logits: Tensor) -> Staged:
        """All answers in order."""
        return Staged(
            labels=torch.from_numpy(self._labels),
            confidence=torch.from_numpy(self._confidence),
            exits=torch.from_numpy(self._exits),
            agreeing=torch.from_numpy(self._agreeing),
            through=torch.from_numpy(np.flatnonzero(self._exits == self._looks)),
            logits=logits,
        )


def rows(x: Float[Tensor, "batch ..."], places: Int[Tensor, " some"]) -> Float[Tensor, "some ..."]:
    """Some images of a batch, in the memory layout of the whole."""
    if x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last):
        return x.permute(0, 2, 3, 1).index_select(0, places).permute(0, 3, 1, 2)
    return x.index_select(0, places)
