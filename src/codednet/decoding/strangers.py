"""Images of none of the classes: scores that tell them from one's own, from the code and from the logits.

All scores are the larger the stranger an image is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from torch import Tensor

from codednet.decoding.channel import Channel
from codednet.decoding.early import agreements
from codednet.errors import CodednetError
from codednet.nn.words import Words, words_for

FROM_CODE = ("distance", "margin", "disagreement", "channel")
FROM_LOGITS = ("max_softmax", "max_logit", "energy_score")


@dataclass(frozen=True, kw_only=True)
class Separation:
    """How well a score tells strangers from one's own images."""

    score: str
    auroc: float
    """Probability that a stranger scores higher than one's own image; ties count half."""
    fpr95: float
    """Share of strangers that pass where 95 % of one's own images pass."""


def stranger_scores(
    logits: Float[Tensor, "images classes"],
    energies: Sequence[Float[Tensor, "images _"]],
    codes: Sequence[Words],
    channel: Channel | None,
) -> dict[str, Float[Tensor, " images"]]:
    """Every score of every image; those of the code are means over the blocks, but for the channel's likelihood.

    Of a network without coded blocks those of the logits alone; `channel` is then None.
    """
    if logits.shape[1] < 2:
        raise CodednetError("scores of strangers need a network of 2 classes or more; this one has 1.")
    z = logits.double()
    found = {
        "max_softmax": -z.softmax(1).amax(1),
        "max_logit": -z.amax(1),
        "energy_score": -z.logsumexp(1),
    }
    if channel is None:
        return found
    distances = [_distances(one, code) for one, code in zip(energies, codes, strict=True)]
    nearest = [one.topk(2, dim=1, largest=False).values for one in distances]
    agree = agreements(z.argmax(1), energies, codes)
    return {
        "distance": torch.stack([two[:, 0] for two in nearest]).mean(0),
        "margin": torch.stack([two[:, 0] - two[:, 1] for two in nearest]).mean(0),
        "disagreement": 1 - agree.double().mean(1),
        "channel": -channel.log_likelihood(energies),
    } | found


def separations(own: Mapping[str, Tensor], strangers: Mapping[str, Tensor]) -> tuple[Separation, ...]:
    """AUROC and FPR95 of every score."""
    return tuple(
        Separation(score=name, auroc=auroc(own[name], strangers[name]), fpr95=fpr95(own[name], strangers[name]))
        for name in own
    )


def auroc(own: ArrayLike | Tensor, strangers: ArrayLike | Tensor) -> float:
    """Probability that a stranger scores higher than one's own image.

    >>> auroc([0.1, 0.2, 0.3], [0.2, 0.9])
    0.75
    """
    low, high = _checked(own, strangers)
    ranks = rankdata(np.concatenate([low, high]))[len(low) :]
    return float((ranks.sum() - len(high) * (len(high) + 1) / 2) / (len(low) * len(high)))


def fpr95(own: ArrayLike | Tensor, strangers: ArrayLike | Tensor, share: float = 0.95) -> float:
    """Share of strangers that pass, at the strictest limit which at least 95 % of one's own images pass.

    >>> fpr95([0.1, 0.2, 0.3], [0.2, 0.9])
    0.5
    """
    low, high = _checked(own, strangers)
    limit = np.sort(low)[int(np.ceil(share * len(low))) - 1]
    return float((high <= limit).mean())


def _distances(energies: Tensor, code: Words) -> Tensor:
    """Mean square over the branches of rate times energy less word, for every class."""
    words = words_for(code, energies.double())
    found = words.mean(1)[0] * energies.double()
    squares = found.square().sum(1, keepdim=True) - 2 * found @ words.T + words.square().sum(1)
    return squares / words.shape[1]


def _checked(own: ArrayLike | Tensor, strangers: ArrayLike | Tensor) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    low, high = np.asarray(own, dtype=np.float64), np.asarray(strangers, dtype=np.float64)
    if low.ndim != 1 or high.ndim != 1 or not len(low) or not len(high):
        raise CodednetError(
            f"there must be scores of one's own images and of strangers, a row each; got shapes {low.shape} and "
            f"{high.shape}."
        )
    return low, high
