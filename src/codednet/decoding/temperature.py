"""Temperatures: h_T, one for all images, and h_aug, one for each pattern of agreeing early decoders.

h_aug's is T (1 + sum_i agree_i tau_i). It must be positive for every pattern, so the negative taus together must stay
above -1; `taus` gives such taus, and all of them, from any real numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from codednet.errors import CodednetError

# Temperatures are sought between 1 / LIMIT and LIMIT: where all images are right, none is the likeliest.
LIMIT = 1e3
STEPS = 200
TOLERANCE = 1e-9


@dataclass(frozen=True, kw_only=True)
class Temperature:
    """h_T and h_aug alike: logits are divided by T (1 + sum_i agree_i tau_i); h_T has no tau."""

    temperature: float
    taus: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.temperature > 0 or not 1 + sum(min(tau, 0.0) for tau in self.taus) > 0:
            raise CodednetError(
                "a temperature must be positive for every pattern of agreement: T above 0, the negative taus together "
                f"above -1; got T={self.temperature:g} and taus {[round(tau, 4) for tau in self.taus]}."
            )

    def of(self, agree: Bool[Tensor, "images blocks"]) -> Float[Tensor, " images"]:
        """Temperature of each image."""
        taus = torch.tensor(self.taus, dtype=torch.float64)
        if not self.taus:
            return torch.full((len(agree),), self.temperature, dtype=torch.float64)
        if agree.shape[1] != len(self.taus):
            raise CodednetError(
                f"there are taus for {len(self.taus)} early decoders; the agreement is of {agree.shape[1]}."
            )
        return self.temperature * (1 + agree.double() @ taus)

    def probabilities(
        self, logits: Float[Tensor, "images classes"], agree: Bool[Tensor, "images blocks"]
    ) -> Float[Tensor, "images classes"]:
        """Calibrated probabilities of the classes."""
        return (logits.double() / self.of(agree)[:, None]).softmax(1)

    def document(self) -> dict[str, Any]:
        """The temperature as JSON values."""
        return {"temperature": self.temperature, "taus": list(self.taus)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Temperature":
        """The temperature that the JSON values describe."""
        return cls(temperature=document["temperature"], taus=tuple(document["taus"]))


class Temperatures(NamedTuple):
    """Fits of several splits at once."""

    temperature: Float[Tensor, " splits"]
    taus: Float[Tensor, "splits blocks"]
    nll: Float[Tensor, " splits"]
    """Mean negative log-likelihood that was reached."""
    converged: Bool[Tensor, " splits"]

    def split(self, index: int) -> Temperature:
        """The fit of one split."""
        return Temperature(temperature=float(self.temperature[index]), taus=tuple(self.taus[index].tolist()))


def taus(free: Float[Tensor, "*splits blocks"]) -> Float[Tensor, "*splits blocks"]:
    """Taus whose negative ones together stay above -1, from any real numbers; 0 gives 0, and all such taus are reached.

    >>> taus(torch.tensor([0.5, -1.0, -3.0]))
    tensor([ 0.5000, -0.2000, -0.6000])
    """
    return torch.where(free < 0, free / _room(free), free)


def fit_temperatures(
    logits: Float[Tensor, "splits images classes"],
    labels: Int[Tensor, "splits images"],
    agree: Bool[Tensor, "splits images blocks"] | None = None,
) -> Temperatures:
    """The likeliest h_aug of every split, or h_T where there is no agreement to go by.

    Newton steps in (log T, free numbers behind the taus), all splits at once, each halved until it helps; h_aug begins
    at h_T with all taus 0.
    """
    problem = _Problem.of(logits, labels, agree)
    if agree is None:
        return _descend(problem, torch.zeros(len(logits), 1, dtype=torch.float64))
    start = torch.zeros(len(logits), 1 + agree.shape[2], dtype=torch.float64)
    start[:, 0] = fit_temperatures(logits, labels).temperature.log()
    return _descend(problem, start)


def fit_temperature(
    logits: Float[Tensor, "images classes"],
    labels: Int[Tensor, " images"],
    agree: Bool[Tensor, "images blocks"] | None = None,
) -> Temperature:
    """The likeliest h_aug, or h_T where there is no agreement to go by."""
    return fit_temperatures(logits[None], labels[None], None if agree is None else agree[None]).split(0)


def literal_fit(
    logits: Float[Tensor, "images classes"],
    labels: Int[Tensor, " images"],
    agree: Bool[Tensor, "images blocks"] | None = None,
    steps: int = 600,
    rate: float = 0.1,
) -> Temperature:
    """The paper's own fit: gradient steps from T = 1 and tau = 0, which need not have converged.

    Refused where the last step ends outside the temperatures that are positive for every pattern.
    """
    z = logits.double()
    temperature = torch.ones(1, dtype=torch.float64, requires_grad=True)
    tau = torch.zeros(0 if agree is None else agree.shape[1], dtype=torch.float64, requires_grad=True)
    for _ in range(steps):
        scale = temperature if agree is None else temperature * (1 + agree.double() @ tau)
        loss = torch.nn.functional.cross_entropy(z / scale[:, None], labels)
        gradients = torch.autograd.grad(loss, (temperature, tau) if len(tau) else (temperature,))
        with torch.no_grad():
            for parameter, gradient in zip((temperature, tau), gradients, strict=False):
                parameter -= rate * gradient
    return Temperature(temperature=float(temperature.detach()), taus=tuple(tau.tolist()))


class _Problem(NamedTuple):
    """Logits less their largest, classes first; those of the true classes; and a one before the agreement."""

    z: Float[Tensor, "classes splits images"]
    true: Float[Tensor, "splits images"]
    pattern: Float[Tensor, "splits images columns"]

    @classmethod
    def of(cls, logits: Tensor, labels: Tensor, agree: Tensor | None) -> "_Problem":
        if not labels.numel() or not bool(torch.isfinite(logits).all()):
            raise CodednetError(
                f"temperatures are fitted on finite logits of one image or more; got {labels.numel()} images"
                f"{' and logits that hold NaN or infinity' if labels.numel() else ''}."
            )
        z = logits.permute(2, 0, 1).to(torch.float64, memory_format=torch.contiguous_format, copy=True)
        z -= z.amax(0)
        ones = torch.ones(*labels.shape, 1, dtype=torch.float64)
        pattern = ones if agree is None else torch.cat((ones, agree.double()), 2)
        return cls(z, z.gather(0, labels[None])[0], pattern)

    def nll(self, linear: Tensor) -> Tensor:
        """Mean negative log-likelihood of each split; `linear` is (T, T tau)."""
        inverse = self._temperatures(linear).reciprocal()
        # The largest is 0, so exponentials need no shift.
        return ((self.z * inverse).exp_().sum(0).log_() - self.true * inverse).mean(1)

    def derivatives(self, linear: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean negative log-likelihood, its gradient and Hessian in (T, T tau), in which temperatures are linear."""
        inverse = self._temperatures(linear).reciprocal()
        p = (self.z * inverse).exp_()
        total = p.sum(0)
        p *= self.z
        mean = p.sum(0) / total
        p *= self.z
        variance = p.sum(0) / total - mean.square()
        slope = mean - self.true  # in 1 / t
        count = inverse.shape[1]
        gradient = (self.pattern.mT @ (-slope * inverse.square())[:, :, None])[:, :, 0] / count
        curve = variance * inverse.pow(4) + 2 * slope * inverse.pow(3)
        hessian = self.pattern.mT @ (self.pattern * curve[:, :, None]) / count
        return (total.log_() - self.true * inverse).mean(1), gradient, hessian

    def _temperatures(self, linear: Tensor) -> Tensor:
        return (self.pattern @ linear[:, :, None])[:, :, 0]


def _descend(problem: _Problem, free: Tensor) -> Temperatures:
    """Damped Newton from these numbers (log T, then those behind the taus)."""
    bounds = torch.full((free.shape[1],), LIMIT, dtype=torch.float64)
    bounds[0] = torch.tensor(LIMIT).log()
    converged = torch.zeros(len(free), dtype=torch.bool)
    nll = problem.nll(_linear(free))
    for _ in range(STEPS):
        nll, gradient, hessian = problem.derivatives(_linear(free))
        chart = _chart(free)
        gradient = (chart.mT @ gradient[:, :, None])[:, :, 0]
        # At a bound, only what leads back counts.
        pushed = (free >= bounds) & (gradient < 0) | (free <= -bounds) & (gradient > 0)
        gradient = gradient.masked_fill(pushed, 0)
        converged = gradient.abs().amax(1) < TOLERANCE
        if bool(converged.all()):
            break
        step = _newton_step(gradient, chart.mT @ hessian @ chart)
        free = _searched(problem, free, step.masked_fill(converged[:, None], 0), gradient, nll, bounds)
    linear = _linear(free)
    return Temperatures(linear[:, 0], taus(free[:, 1:]), nll, converged)


def _newton_step(gradient: Tensor, hessian: Tensor) -> Tensor:
    """Newton's step, uphill curvature turned round, no longer than 2 in all."""
    values, vectors = torch.linalg.eigh(hessian)
    values = values.abs().clamp_min(1e-12 + 1e-9 * values.abs().amax(1, keepdim=True))
    step: Tensor = -(vectors @ ((vectors.mT @ gradient[:, :, None]) / values[:, :, None]))[:, :, 0]
    length = torch.linalg.vector_norm(step, dim=1, keepdim=True)
    step *= (2 / length.clamp_min(1e-30)).clamp_max(1)
    return step


def _searched(problem: _Problem, free: Tensor, step: Tensor, gradient: Tensor, nll: Tensor, bounds: Tensor) -> Tensor:
    """Where each split comes to by its step, halved until it helps as far as rounding lets that be seen."""
    size = torch.ones(len(free), 1, dtype=torch.float64)
    expected = (step * gradient).sum(1)
    for _ in range(40):
        moved = (free + size * step).clamp(-bounds, bounds)
        better = problem.nll(_linear(moved)) <= nll + 1e-4 * size[:, 0] * expected + 1e-14 * nll.abs()
        if bool(better.all()):
            break
        size = torch.where(better[:, None], size, size / 2)
    return torch.where(better[:, None], moved, free)


def _linear(free: Tensor) -> Tensor:
    """(T, T tau) from (log T, numbers behind the taus)."""
    temperature = free[:, :1].exp()
    return torch.cat((temperature, temperature * taus(free[:, 1:])), 1)


def _chart(free: Tensor) -> Tensor:
    """Derivative of `_linear`, a matrix a split."""
    temperature, behind = free[:, :1].exp(), free[:, 1:]
    room, negative = _room(behind), behind < 0
    slope = torch.diag_embed(torch.where(negative, 1 / room, torch.ones_like(behind)))
    slope = slope + (behind / room.square() * negative)[:, :, None] * negative[:, None, :]
    chart = torch.zeros(len(free), free.shape[1], free.shape[1], dtype=free.dtype)
    chart[:, :, 0] = _linear(free)
    chart[:, 1:, 1:] = temperature[:, :, None] * slope
    return chart


def _room(free: Tensor) -> Tensor:
    """1 plus the size of the negative numbers together."""
    return 1 + free.clamp_max(0).abs().sum(-1, keepdim=True)
