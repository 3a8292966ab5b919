"""Exit rules of a network: which blocks are looked at, how sure an image must be, and what that costs and saves."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from codednet.decoding.joint import JointDecoder, JointFit
from codednet.decoding.risk import THRESHOLDS, RiskChoice, allowed_bad, choose_threshold, exit_loss
from codednet.decoding.staged import NEVER, StagedRunner
from codednet.errors import CodednetError
from codednet.measure import multiply_adds
from codednet.models import CodedResNeXt
from codednet.runs.collect import Collected

# What a look takes, as a share of the whole network: small operations whose multiply-adds say nothing of their time.
LOOK_SHARE = 0.02
# A further look is taken only for at least this share of the network's cost.
LEAST_GAIN = 0.005


class Posteriors(NamedTuple):
    """What a decoder says of a table of images, and what is needed to judge it."""

    confidence: Float[Tensor, "looks images"]
    named: Int[Tensor, "looks images"]
    full: Int[Tensor, " images"]
    """What the whole network says."""
    labels: Int[Tensor, " images"]

    @classmethod
    def of(cls, log_posteriors: Float[Tensor, "looks images classes"], collected: Collected) -> "Posteriors":
        """Those of log-posteriors and the pass that they were read from."""
        top = log_posteriors.max(2)
        return cls(top.values.exp(), top.indices, collected.logits.argmax(1), collected.labels)

    def bad(self, threshold: float) -> int:
        """Images that are right in full and wrong where they leave."""
        return int(exit_loss(self.confidence, self.named, self.full, self.labels, threshold).sum())

    def exits(self, threshold: float) -> Int[Tensor, " images"]:
        """Look that each image leaves at; the number of looks where it goes through."""
        leaves = self.confidence >= threshold
        return torch.where(leaves.any(0), leaves.int().argmax(0), len(leaves))

    def answers(self, threshold: float) -> Int[Tensor, " images"]:
        """What is said of each image."""
        return torch.cat((self.named, self.full[None])).gather(0, self.exits(threshold)[None])[0]


@dataclass(frozen=True, kw_only=True)
class ExitRule:
    """Which blocks are read, and the posterior that an image leaves with."""

    looks: tuple[str, ...]
    """Names of the blocks that are read."""
    decoder: JointDecoder
    choice: RiskChoice

    @property
    def threshold(self) -> float:
        """Least posterior that an image leaves with; one that is never reached if there is no exit."""
        return NEVER if self.choice.threshold is None else self.choice.threshold

    def runner(self, model: CodedResNeXt, **options: Any) -> StagedRunner:
        """The network with these exits."""
        return StagedRunner(model, self.decoder, self.threshold, **options)

    def document(self) -> dict[str, Any]:
        """The rule as JSON values."""
        return {"looks": list(self.looks), "decoder": self.decoder.document(), "choice": asdict(self.choice)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "ExitRule":
        """The rule that the JSON values describe."""
        decoder = JointDecoder.from_document(document["decoder"])
        return cls(looks=tuple(document["looks"]), decoder=decoder, choice=RiskChoice(**document["choice"]))


@dataclass(frozen=True, kw_only=True)
class ExitPoint:
    """One threshold on a split: accuracy against cost."""

    threshold: float | None
    """None is never to exit."""
    accuracy: float
    risk: float
    """Share of images that are right in full and wrong at their exit."""
    shares: tuple[float, ...]
    """Of the images: those that leave at each look, and last those that go through."""
    multiply_adds: float
    """Mean over the images."""
    cost: float
    """The same as a share of the whole network's."""


def choose_rule(
    model: CodedResNeXt, fit: Collected, risk: Collected, epsilon: float, delta: float, size: Sequence[int]
) -> ExitRule:
    """An exit rule for images of `size` (channels, height, width).

    Decoder and looks are fitted on `fit` alone, so that `risk`, which must hold other images, decides on nothing but
    the threshold.
    """
    if not fit.energies:
        raise CodednetError(f"{model.config.architecture} has no coded blocks, so nothing can be read before its end.")
    if len(set(fit.indices.tolist()) & set(risk.indices.tolist())):
        raise CodednetError("the images that the threshold is chosen on must not be among those that are fitted on.")
    joint = JointFit(fit.energies, model.codes, fit.labels, fit.logits)
    # How many of the images may be bad says how strict the threshold will be; what they are has no part in it.
    share = max(0, allowed_bad(len(risk.labels), epsilon, delta)) / len(risk.labels)
    blocks = choose_looks(joint, fit, exit_costs(model, joint.decoder(), size), share)
    decoder = joint.decoder(blocks)
    posteriors = Posteriors.of(decoder.log_posteriors(risk.energies), risk)
    choice = choose_threshold(posteriors.bad, len(risk.labels), epsilon, delta)
    return ExitRule(looks=tuple(model.coded_blocks[block] for block in blocks), decoder=decoder, choice=choice)


def choose_looks(joint: JointFit, fit: Collected, costs: Sequence[float], share: float) -> tuple[int, ...]:
    """Coded blocks worth reading: added one by one, as long as the mean cost falls.

    `costs` are those of leaving at each coded block, and last of going through. Judged on images that the readouts
    were fitted without, at the loosest threshold with which at most this share of them is bad.
    """
    chosen: tuple[int, ...] = ()
    best = 1.0
    while len(chosen) < joint.num_blocks:
        options = {
            blocks: _mean_cost(joint, blocks, fit, costs, share)
            for block in range(joint.num_blocks)
            if block not in chosen
            for blocks in [tuple(sorted((*chosen, block)))]
        }
        blocks = min(options, key=lambda blocks: options[blocks])
        if chosen and options[blocks] > best - LEAST_GAIN:
            break
        chosen, best = blocks, options[blocks]
    return chosen


def exit_costs(model: CodedResNeXt, decoder: JointDecoder, size: Sequence[int]) -> list[float]:
    """Multiply-adds of an image that leaves at each look, and last of one that goes through."""
    image = torch.zeros(1, *size, device=model.conv1.weight.device)
    looks = len(decoder.blocks)
    costs = []
    for exit_at in range(looks + 1):
        runner = forced(model, decoder, exit_at)
        runner(image)  # what depends on the weights alone is computed once, and not counted
        costs.append(float(multiply_adds(lambda runner=runner: runner(image))))  # type: ignore[misc]
    return costs


def network_multiply_adds(model: CodedResNeXt, image: Tensor) -> float:
    """Multiply-adds of the network without any look, on one image."""
    with torch.no_grad():
        model(image)  # what depends on the weights alone is computed once, and not counted
        return float(multiply_adds(lambda: model(image)))


def forced(model: CodedResNeXt, decoder: JointDecoder, exit_at: int) -> StagedRunner:
    """A runner whose images all leave at one look, or go through."""
    return StagedRunner(model, decoder, [0.0 if look == exit_at else NEVER for look in range(len(decoder.blocks))])


def exit_curve(
    posteriors: Posteriors, costs: Sequence[float], full: float, thresholds: Sequence[float | None]
) -> tuple[ExitPoint, ...]:
    """Accuracy against cost at each threshold; `full` is the cost of the network without any look."""
    points = []
    for threshold in thresholds:
        limit = NEVER if threshold is None else threshold
        exits = posteriors.exits(limit)
        shares = torch.bincount(exits, minlength=len(costs)).double() / len(exits)
        cost = float(shares @ torch.tensor(costs, dtype=torch.float64))
        if threshold is None:
            cost = full
        points.append(
            ExitPoint(
                threshold=threshold,
                accuracy=float((posteriors.answers(limit) == posteriors.labels).double().mean()),
                risk=posteriors.bad(limit) / len(exits),
                shares=tuple(shares.tolist()),
                multiply_adds=cost,
                cost=cost / full,
            )
        )
    return tuple(points)


def _mean_cost(joint: JointFit, blocks: tuple[int, ...], fit: Collected, costs: Sequence[float], share: float) -> float:
    """Share of the whole network's cost that these looks are expected to leave."""
    posteriors = Posteriors.of(joint.held_out(blocks), fit)
    images = len(fit.labels)
    limit = NEVER
    for threshold in THRESHOLDS:
        if posteriors.bad(threshold) > share * images:
            break
        limit = threshold
    exits = posteriors.exits(limit)
    at = torch.tensor([costs[block] for block in blocks] + [costs[-1]], dtype=torch.float64) / costs[-1]
    looks = torch.arange(1, len(blocks) + 2).clamp_max(len(blocks)) * LOOK_SHARE
    return float((at + looks)[exits].mean())
