"""Minima of smooth functions between bounds, many at once: projected Newton steps (Bertsekas, 1982)."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

STEPS = 200
TOLERANCE = 1e-9
# A step goes no further than this, in a problem's numbers, and as far again as the numbers are large.
REACH = 1.0
# How near a bound a number that is pushed against it counts as being at it.
NEAR = 1e-3

Rows = Float[Tensor, "problems numbers"]
Values = Float[Tensor, " problems"]
Derivatives = tuple[Values, Rows, Float[Tensor, "problems numbers numbers"]]


class Bounds(NamedTuple):
    """Smallest and largest value of each number."""

    lower: Float[Tensor, " numbers"]
    upper: Float[Tensor, " numbers"]

    def nearest(self, x: Rows) -> Rows:
        """The nearest numbers between the bounds."""
        return x.clamp(self.lower, self.upper)


class Minima(NamedTuple):
    """Where each problem came to."""

    x: Rows
    value: Values
    converged: Bool[Tensor, " problems"]
    """Whether no number that may move has a slope left."""


def minimise(
    value: Callable[[Rows], Values], derivatives: Callable[[Rows], Derivatives], start: Rows, bounds: Bounds
) -> Minima:
    """A minimum of each problem; `derivatives` gives value, gradient and Hessian, all problems at once."""
    x = bounds.nearest(start)
    for _ in range(STEPS):
        values, gradient, hessian = derivatives(x)
        slack = (x - bounds.nearest(x - gradient)).abs().amax(1)
        converged = slack < TOLERANCE
        if bool(converged.all()):
            break
        near = slack.clamp_max(NEAR)[:, None]
        held = (x - bounds.lower <= near) & (gradient > 0) | (bounds.upper - x <= near) & (gradient < 0)
        step = _newton_step(gradient, hessian, held)
        length = torch.linalg.vector_norm(step, dim=1, keepdim=True)
        longest = REACH + torch.linalg.vector_norm(x, dim=1, keepdim=True)
        step = (step * (longest / length.clamp_min(1e-30)).clamp_max(1)).masked_fill(converged[:, None], 0)
        x = _searched(value, x, step, gradient, values, bounds)
    return Minima(x, values, converged)


def _newton_step(gradient: Rows, hessian: Float[Tensor, "problems numbers numbers"], held: Tensor) -> Rows:
    """Newton's step in the numbers that are free, uphill curvature turned round; down the slope in those held."""
    free = ~held
    hessian = hessian * (free[:, :, None] & free[:, None, :]) + torch.diag_embed(held.to(hessian.dtype))
    values, vectors = torch.linalg.eigh(hessian)
    values = values.abs().clamp_min(1e-12 + 1e-9 * values.abs().amax(1, keepdim=True))
    step: Tensor = -(vectors @ ((vectors.mT @ gradient[:, :, None]) / values[:, :, None]))[:, :, 0]
    return step


def _searched(
    value: Callable[[Rows], Values], x: Rows, step: Rows, gradient: Rows, values: Values, bounds: Bounds
) -> Rows:
    """Where each problem comes to by its step, halved until it helps as far as rounding lets that be seen."""
    size = torch.ones(len(x), 1, dtype=x.dtype)
    for _ in range(40):
        moved = bounds.nearest(x + size * step)
        expected = ((moved - x) * gradient).sum(1)
        better = value(moved) <= values + 1e-4 * expected + 1e-14 * values.abs()
        if bool(better.all()):
            break
        size = torch.where(better[:, None], size, size / 2)
    return torch.where(better[:, None], moved, x)
