"""The joint decoder: energies of the blocks so far, read together as one long word through a noisy channel."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from codednet.decoding.fitting import (
    Array,
    Readout,
    check_fittable,
    choose_penalty,
    crossed,
    fit_readout,
    targets_of,
)
from codednet.errors import CodednetError
from codednet.nn.words import Words, check_blocks, words_for


def amplitudes(energies: Float[Tensor, "batch branches"]) -> Float[Tensor, "batch branches"]:
    """Root mean square of what each branch gives: of squares, single loud branches would drown the others."""
    return energies.sqrt()


class JointDecoder:
    """Running log-posterior over the classes, from the energies of the coded blocks that are read.

    `blocks` are the places of the blocks that are read, among the coded ones. Each look has its own readout of all
    amplitudes so far, so what blocks say twice is not counted twice.
    """

    def __init__(self, blocks: Sequence[int], readouts: Sequence[Readout]) -> None:
        self.blocks = tuple(blocks)
        self.readouts = tuple(readouts)
        if not self.blocks or len(self.blocks) != len(self.readouts) or list(self.blocks) != sorted(set(self.blocks)):
            raise CodednetError(
                f"a joint decoder reads one block or more, in rising order, with a readout for each; got blocks "
                f"{list(self.blocks)} and {len(self.readouts)} readouts."
            )
        self._weights = [torch.tensor(readout.weight.T.copy(), dtype=torch.float32) for readout in readouts]
        self._biases = [torch.tensor(readout.bias, dtype=torch.float32) for readout in readouts]

    @property
    def num_classes(self) -> int:
        """Classes of the posterior."""
        return len(self._biases[0])

    def to(self, device: torch.device | str) -> "JointDecoder":
        """The same decoder with its weights on a device; this one stays where it is."""
        moved = JointDecoder(self.blocks, self.readouts)
        moved._weights = [weight.to(device) for weight in self._weights]
        moved._biases = [bias.to(device) for bias in self._biases]
        return moved

    def see(
        self, seen: Float[Tensor, "batch before"] | None, energies: Float[Tensor, "batch branches"]
    ) -> Float[Tensor, "batch so_far"]:
        """What has been seen before, and the next block's amplitudes after it."""
        new = amplitudes(energies)
        return new if seen is None else torch.cat((seen, new), 1)

    def scores(self, look: int, seen: Float[Tensor, "batch so_far"]) -> Float[Tensor, "batch classes"]:
        """Scores of the classes at a look, whose softmax is the posterior, from the amplitudes so far."""
        return torch.addmm(self._biases[look], seen, self._weights[look])

    def log_posteriors(self, energies: Sequence[Float[Tensor, "batch _"]]) -> Float[Tensor, "looks batch classes"]:
        """Log-posteriors at each look, from the energies of all coded blocks of the network."""
        if len(energies) <= self.blocks[-1]:
            raise CodednetError(
                f"the decoder reads coded block {self.blocks[-1]}, counted from 0; there are energies of "
                f"{len(energies)} blocks."
            )
        seen, found = None, []
        for look, block in enumerate(self.blocks):
            seen = self.see(seen, energies[block].float())
            found.append(self.scores(look, seen).log_softmax(1))
        return torch.stack(found)

    def document(self) -> dict[str, Any]:
        """The decoder as JSON values."""
        return {
            "blocks": list(self.blocks),
            "readouts": [{"weight": one.weight.tolist(), "bias": one.bias.tolist()} for one in self.readouts],
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "JointDecoder":
        """The decoder that the JSON values describe."""
        readouts = [Readout(np.array(one["weight"]), np.array(one["bias"])) for one in document["readouts"]]
        return cls(document["blocks"], readouts)


class JointFit:
    """Fits joint decoders on one table of energies; what two of them share is fitted once.

    Where the network's own `logits` of the images are given, the decoders learn from these as much as from the labels.
    Penalties are chosen by cross-validation with all blocks read.
    """

    def __init__(
        self,
        energies: Sequence[Float[Tensor, "images _"]],
        codes: Sequence[Words],
        labels: Int[Tensor, " images"],
        logits: Float[Tensor, "images classes"] | None = None,
    ) -> None:
        check_blocks(len(energies), len(codes))
        if not energies:
            raise CodednetError("a network without coded blocks has no energies to decode: all its rates are 1.")
        self._columns = [amplitudes(found.double()).numpy() for found in energies]
        self._words = [words_for(code, found).double().numpy() for code, found in zip(codes, energies, strict=True)]
        self._labels: NDArray[np.int64] = labels.numpy().astype(np.int64)
        check_fittable(self._labels, len(self._words[0]))
        answers = None if logits is None else logits.double().softmax(1).numpy()
        self._targets = targets_of(self._labels, answers, len(self._words[0]))
        self.penalty = choose_penalty(*self._table(range(len(energies))), self._labels, self._targets)
        self._readouts: dict[tuple[int, ...], Readout] = {}
        self._crossed: dict[tuple[int, ...], Array] = {}

    @property
    def num_blocks(self) -> int:
        """Coded blocks that can be read."""
        return len(self._columns)

    def decoder(self, blocks: Sequence[int] | None = None) -> JointDecoder:
        """The decoder that reads these blocks; all of them by default."""
        chosen = tuple(range(self.num_blocks) if blocks is None else blocks)
        return JointDecoder(chosen, [self._readout(chosen[: look + 1]) for look in range(len(chosen))])

    def held_out(self, blocks: Sequence[int]) -> Float[Tensor, "looks images classes"]:
        """Log-posteriors of the images it is fitted on, each by a readout that was fitted without it."""
        chosen = tuple(blocks)
        return torch.stack([torch.from_numpy(self._held_out(chosen[: look + 1])) for look in range(len(chosen))])

    def _readout(self, blocks: tuple[int, ...]) -> Readout:
        if blocks not in self._readouts:
            self._readouts[blocks] = fit_readout(*self._table(blocks), self._targets, self.penalty)
        return self._readouts[blocks]

    def _held_out(self, blocks: tuple[int, ...]) -> Array:
        if blocks not in self._crossed:
            found = crossed(*self._table(blocks), self._labels, self._targets, self.penalty)
            self._crossed[blocks] = found.log_posteriors
        return self._crossed[blocks]

    def _table(self, blocks: Sequence[int]) -> tuple[Array, Array, NDArray[np.int64]]:
        """Amplitudes, words and the block of each column."""
        owner = np.concatenate([np.full(self._columns[block].shape[1], at) for at, block in enumerate(blocks)])
        columns = np.concatenate([self._columns[block] for block in blocks], axis=1)
        return columns, np.concatenate([self._words[block] for block in blocks], axis=1), owner


def fit_joint(
    energies: Sequence[Float[Tensor, "images _"]],
    codes: Sequence[Words],
    labels: Int[Tensor, " images"],
    blocks: Sequence[int] | None = None,
    logits: Float[Tensor, "images classes"] | None = None,
) -> JointDecoder:
    """Joint decoder of these blocks (all by default), fitted on images that the network was not trained on."""
    return JointFit(energies, codes, labels, logits).decoder(blocks)
