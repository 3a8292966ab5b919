"""Temperatures: h_T, one for all images, and h_aug, one for each pattern of agreeing early decoders.

h_aug's is T (1 + sum_i agree_i tau_i). It must be positive for every pattern, so the negative taus together must stay
above -1: `assemble` gives such taus, all of them and no others, from numbers that are bounded one by one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from codednet.decoding.bounded import Bounds, Derivatives, minimise
from codednet.errors import CodednetError

# h_T is sought between 1 / LIMIT and LIMIT: where all images are right, none is the likeliest. No pattern of agreement
# sharpens h_T more than RANGE times, as none may be the likeliest where all images that share it are right.
LIMIT = 1e3
RANGE = 1e2


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


def assemble(
    parts: Float[Tensor, "splits parts"],
) -> tuple[Float[Tensor, " splits"], Float[Tensor, "splits blocks"]]:
    """T and taus of m > 0, p and n >= 0 in a row: an image's temperature is m + sum_i (p_i if i agrees, else n_i).

    No pattern of agreement has less than m, and every T and taus that are positive for all patterns come from some m,
    p and n.

    >>> assemble(torch.tensor([[0.5, 1.0, 0.0, 0.0, 0.5]]))
    (tensor([1.]), tensor([[ 1.0000, -0.5000]]))
    """
    linear = parts @ _assembly(parts.shape[1] // 2).to(parts.dtype).T
    return linear[:, 0], linear[:, 1:] / linear[:, :1]


def fit_temperatures(
    logits: Float[Tensor, "splits images classes"],
    labels: Int[Tensor, "splits images"],
    agree: Bool[Tensor, "splits images blocks"] | None = None,
) -> Temperatures:
    """The likeliest h_aug of every split, or h_T where there is no agreement to go by; all splits at once.

    h_aug begins at h_T with all taus 0.
    """
    problem = _Problem.of(logits, labels, agree)
    if agree is None:
        return problem.fit(torch.ones(len(logits), dtype=torch.float64), LIMIT)
    return problem.fit(fit_temperatures(logits, labels).temperature, RANGE)


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

    def fit(self, unit: Float[Tensor, " splits"], limit: float) -> Temperatures:
        """Fits with temperatures from `unit` / `limit` to `unit` * `limit`, from T = `unit` on."""
        blocks = self.pattern.shape[2] - 1
        matrix = _assembly(blocks)

        def linear(parts: Tensor) -> Tensor:
            return parts @ matrix.T * unit[:, None]

        def derivatives(parts: Tensor) -> Derivatives:
            value, gradient, hessian = self.derivatives(linear(parts))
            return value, gradient @ matrix * unit[:, None], matrix.T @ hessian @ matrix * unit[:, None, None] ** 2

        lower = torch.zeros(1 + 2 * blocks, dtype=torch.float64)
        lower[0] = 1 / limit
        start = torch.zeros(len(unit), len(lower), dtype=torch.float64)
        start[:, 0] = 1
        found = minimise(lambda parts: self.nll(linear(parts)), derivatives, start, Bounds(lower, lower * 0 + limit))
        temperature, taus = assemble(found.x)
        return Temperatures(temperature * unit, taus, found.value, found.converged)

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


def _assembly(blocks: int) -> Float[Tensor, "columns parts"]:
    """Matrix that makes (T, T tau) of (m, p, n): T = m + sum of n, T tau_i = p_i - n_i."""
    one = torch.eye(blocks, dtype=torch.float64)
    first = torch.cat((torch.ones(1), torch.zeros(blocks), torch.ones(blocks))).double()
    return torch.cat((first[None], torch.cat((torch.zeros(blocks, 1), one, -one), 1)))
