"""Exit thresholds whose risk is controlled: Learn then Test with fixed-sequence testing.

Thresholds are tested from the strictest on, each against the hypothesis that its risk exceeds epsilon, by the exact
binomial p-value; the first that is not rejected at level delta ends the sequence, and the last one rejected is taken.
The probability that any threshold of too large a risk is taken is then at most delta, whatever the distribution of
the images (Angelopoulos, Bates, Candès, Jordan and Lei, "Learn then Test: Calibrating Predictive Algorithms to Achieve
Risk Control", 2021), as long as nothing else was fitted on the images.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.stats import binom
from torch import Tensor

from codednet.errors import CodednetError

# Strictest first: how much doubt an exit may leave.
THRESHOLDS = tuple((1 - np.geomspace(1e-6, 0.9, 120)).tolist())


@dataclass(frozen=True, kw_only=True)
class RiskChoice:
    """A threshold with a promise, or the reason why there is none."""

    threshold: float | None
    """Least posterior that an image leaves with; None is never to exit."""
    epsilon: float
    """Largest share of images that may be right in full and wrong at their exit."""
    delta: float
    """Largest probability, over the draw of the images, that this share is exceeded."""
    images: int
    """Images that it was chosen on."""
    bad: int
    """Those of them that are right in full and wrong at their exit."""
    p_value: float | None
    """How likely so few bad ones would be if the risk were epsilon; None where nothing was tested."""
    tested: int
    """Thresholds that were tested."""
    why: str
    """Why there is no exit; empty where there is one."""


def needed_images(epsilon: float, delta: float) -> int:
    """Fewest images on which any threshold can pass: with none of them bad.

    >>> needed_images(0.01, 0.05)
    299
    """
    _check(epsilon, delta)
    # Where the quotient is a whole number, rounding must not ask for an image more.
    return max(1, math.ceil(math.log(delta) / math.log1p(-epsilon) * (1 - 1e-12)))


def allowed_bad(images: int, epsilon: float, delta: float) -> int:
    """Most bad images with which a threshold passes; -1 if none does.

    >>> allowed_bad(600, 0.01, 0.05), allowed_bad(298, 0.01, 0.05)
    (1, -1)
    """
    if images < needed_images(epsilon, delta):
        return -1
    found = int(binom.ppf(delta, images, epsilon))
    return found if risk_p_value(found, images, epsilon) <= delta else found - 1


def risk_p_value(bad: int, images: int, epsilon: float) -> float:
    """Probability of so few bad images, or fewer, if the risk were epsilon."""
    return float(binom.cdf(bad, images, epsilon))


def exit_loss(
    confidence: Float[Tensor, "looks images"],
    named: Int[Tensor, "looks images"],
    full: Int[Tensor, " images"],
    labels: Int[Tensor, " images"],
    threshold: float,
) -> Bool[Tensor, " images"]:
    """Whether each image is right in full and wrong where it leaves, the first look of at least this confidence."""
    leaves = confidence >= threshold
    first = leaves.int().argmax(0, keepdim=True)
    wrong = named.gather(0, first)[0] != labels
    return leaves.any(0) & wrong & (full == labels)


def choose_threshold(
    bad_at: Callable[[float], int],
    images: int,
    epsilon: float,
    delta: float,
    thresholds: Sequence[float] = THRESHOLDS,
) -> RiskChoice:
    """The loosest threshold of the sequence whose risk is at most epsilon with probability at least 1 - delta.

    `bad_at` says how many of the images are bad at a threshold. The sequence, from the strictest on, must not have
    been chosen by looking at these images.
    """
    needed = needed_images(epsilon, delta)
    if images < needed:
        why = (
            f"a risk of {epsilon:.3g} cannot be promised with probability {1 - delta:.3g} on {images} images: "
            f"it takes {needed} or more."
        )
        return RiskChoice(
            threshold=None, epsilon=epsilon, delta=delta, images=images, bad=0, p_value=None, tested=0, why=why
        )
    allowed, tested = allowed_bad(images, epsilon, delta), 0
    passed: tuple[float | None, int] | None = None
    for threshold in thresholds:
        tested += 1
        bad = bad_at(threshold)
        if bad > allowed:
            break
        passed = threshold, bad
    why = ""
    if passed is None:
        why = f"even the strictest threshold is wrong too often to promise a risk of {epsilon:.3g}: {bad} of {images}."
        passed = None, bad
    return RiskChoice(
        threshold=passed[0],
        epsilon=epsilon,
        delta=delta,
        images=images,
        bad=passed[1],
        p_value=risk_p_value(passed[1], images, epsilon),
        tested=tested,
        why=why,
    )


def _check(epsilon: float, delta: float) -> None:
    for name, value in (("risk", epsilon), ("delta", delta)):
        if not 0 < value < 1:
            raise CodednetError(f"{name} is a probability above 0 and below 1, such as 0.01; got {value}.")
