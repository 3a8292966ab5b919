"""The code as a noisy channel: how likely a row of energies is at all, whichever word was sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from codednet.decoding.joint import amplitudes
from codednet.nn.words import Words, check_blocks, words_for

# Images that a branch's overall spread counts as, beside those on which it was active, or was not.
PRIOR = 4.0


@dataclass(frozen=True)
class Channel:
    """Amplitude of each branch given the bit of the word, 0 or 1: a mean and a spread; branches are independent."""

    means: Float[Tensor, "bits columns"]
    spreads: Float[Tensor, "bits columns"]
    words: Float[Tensor, "classes columns"]
    """Words of all blocks, one after the other."""

    def log_likelihoods(self, energies: Sequence[Float[Tensor, "images _"]]) -> Float[Tensor, "images classes"]:
        """Log-density of each image's amplitudes, given the class."""
        x = torch.cat([amplitudes(found.double()) for found in energies], 1)
        silent, active = (
            -((x - self.means[bit]) / self.spreads[bit]).square() / 2 - self.spreads[bit].log() for bit in (0, 1)
        )
        return silent.sum(1, keepdim=True) + (active - silent) @ self.words.T

    def log_likelihood(self, energies: Sequence[Float[Tensor, "images _"]]) -> Float[Tensor, " images"]:
        """Log-density of each image's amplitudes, all classes being as frequent; up to a constant."""
        return self.log_likelihoods(energies).logsumexp(1)

    def document(self) -> dict[str, Any]:
        """The channel as JSON values."""
        return {"means": self.means.tolist(), "spreads": self.spreads.tolist(), "words": self.words.int().tolist()}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Channel":
        """The channel that the JSON values describe."""
        return cls(*(torch.tensor(document[key], dtype=torch.float64) for key in ("means", "spreads", "words")))


def fit_channel(
    energies: Sequence[Float[Tensor, "images _"]], codes: Sequence[Words], labels: Int[Tensor, " images"]
) -> Channel:
    """The likeliest channel; spreads lean a little on that of the branch over all images, so that none vanishes."""
    check_blocks(len(energies), len(codes))
    x = torch.cat([amplitudes(found.double()) for found in energies], 1)
    words = torch.cat([words_for(code, found).double() for code, found in zip(codes, energies, strict=True)], 1)
    bits = words[labels]
    weights = torch.stack((1 - bits, bits))
    overall, variance = x.mean(0), x.var(0, unbiased=False).clamp_min(1e-6)
    # A bit that no image of a branch has seen takes the mean of all.
    means = ((weights * x).sum(1) + 1e-6 * overall) / (weights.sum(1) + 1e-6)
    squares = (weights * (x - means[:, None]).square()).sum(1)
    return Channel(means, ((squares + PRIOR * variance) / (weights.sum(1) + PRIOR)).sqrt(), words)
