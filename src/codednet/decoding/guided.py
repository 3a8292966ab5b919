"""Guided inference: an early posterior names candidates, and of the last coded stage only their branches are evaluated.

An experiment of ours. The candidates of an image are its likeliest classes, until their probabilities reach a mass; the
union of their words says which branches of the stage are kept. The others are removed as `trace(keep=...)` removes
them, whose result is that of a network that lacks them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from codednet.data.batch import Batch
from codednet.decoding.exits import network_multiply_adds
from codednet.decoding.joint import JointDecoder
from codednet.errors import CodednetError
from codednet.models import CodedResNeXt
from codednet.models.block import Bottleneck
from codednet.runs.collect import evaluating


@dataclass(frozen=True, kw_only=True)
class GuidedPoint:
    """Accuracy against cost at one mass."""

    mass: float
    """Probability that the candidates together hold; 1 takes all classes."""
    accuracy: float
    candidates: float
    """Mean number of an image's candidates."""
    branches: float
    """Mean share of the stage's branches that is evaluated."""
    multiply_adds: float
    """Mean of the whole network's multiply-adds over the images."""
    cost: float
    """The same as a share of the network without guidance."""


class GuidedStage:
    """The last coded stage of a network, and the last block before it that can be read."""

    def __init__(self, model: CodedResNeXt) -> None:
        stages = [name.split(".")[0] for name in model.coded_blocks]
        if not stages or stages[0] == stages[-1]:
            raise CodednetError(
                f"guided inference reads a coded stage and saves in a later one; {model.config.architecture} has coded "
                f"blocks in {sorted(set(stages)) or 'no stage'}."
            )
        self.first = stages.index(stages[-1])
        """Place of the stage's first block among the coded ones."""
        self.blocks = model.coded_blocks[self.first :]
        self._model = model

    def kept(self, candidates: Bool[Tensor, "batch classes"]) -> list[Float[Tensor, "batch _"] | None]:
        """Masks for `trace(keep=...)`: in each block of the stage, the union of the candidates' words."""
        words = self._model.words[self.first :]
        unions = [(candidates.float() @ found.float() > 0).float() for found in words]
        return [*[None] * self.first, *unions]

    def multiply_adds(
        self, branches: Sequence[Float[Tensor, " batch"]], size: tuple[int, int]
    ) -> Float[Tensor, " batch"]:
        """Multiply-adds of the stage with so many branches of each block, for inputs of this height and width."""
        total = torch.zeros_like(branches[0], dtype=torch.float64)
        modules = dict(self._model.named_blocks())
        for name, kept in zip(self.blocks, branches, strict=True):
            of_branch, whatever, size = _block_cost(modules[name], size)
            total += of_branch * kept + whatever
        return total


def candidates_of(posterior: Float[Tensor, "batch classes"], mass: float) -> Bool[Tensor, "batch classes"]:
    """The likeliest classes of each image, as few as hold this mass; never none.

    >>> candidates_of(torch.tensor([[0.1, 0.6, 0.3]]), 0.8)
    tensor([[False,  True,  True]])
    """
    values, order = posterior.sort(dim=1, descending=True)
    before = values.cumsum(1) - values
    chosen = before < mass
    chosen[:, 0] = True
    return torch.zeros_like(chosen).scatter(1, order, chosen)


def guided_curve(
    model: CodedResNeXt,
    decoder: JointDecoder,
    batches: Iterable[Batch],
    masses: Sequence[float] = (0.9, 0.99, 0.999, 0.9999, 1.0),
    device: torch.device | str = "cpu",
) -> tuple[GuidedPoint, ...]:
    """Accuracy against cost at each mass; the decoder must read blocks before the last coded stage alone."""
    stage = GuidedStage(model)
    if decoder.blocks[-1] >= stage.first:
        raise CodednetError(
            f"guidance comes from before the last coded stage, whose first block is {stage.blocks[0]}; the decoder "
            f"reads {model.coded_blocks[decoder.blocks[-1]]}. Fit it on blocks={list(range(stage.first))}."
        )
    sums = torch.zeros(len(masses), 4, dtype=torch.float64)
    images, full, before = 0, 0.0, 0.0
    with evaluating(model, torch.device(device)):
        decoder = decoder.to(device)
        for batch in batches:
            x, labels = batch.images.to(device), batch.labels.to(device)
            if not images:
                before, full = _costs(model, stage, x[:1])
            start, here, energies = _enter(model, stage, x)
            posterior = decoder.log_posteriors(energies)[-1].exp()
            images += len(x)
            for row, mass in enumerate(masses):
                candidates = candidates_of(posterior, mass if mass < 1 else 2.0)
                kept = stage.kept(candidates)
                y = here
                for step in model.walk(here, start=start, keep=kept):
                    y = step.finish()
                right = model.forward_head(y).argmax(1) == labels
                counts = [mask.sum(1).double().cpu() for mask in kept if mask is not None]
                cost = before + stage.multiply_adds(counts, (here.shape[2], here.shape[3]))
                shares = torch.stack(
                    [count / words.shape[1] for count, words in zip(counts, model.words[stage.first :], strict=True)]
                )
                sums[row] += torch.tensor(
                    [right.sum(), candidates.sum(), shares.mean(0).sum(), cost.sum()], dtype=torch.float64
                )
    if not images:
        raise CodednetError("there are no images to evaluate.")
    means = (sums / images).tolist()
    return tuple(
        GuidedPoint(
            mass=mass,
            accuracy=found[0],
            candidates=found[1],
            branches=found[2],
            multiply_adds=found[3],
            cost=found[3] / full,
        )
        for mass, found in zip(masses, means, strict=True)
    )


def _enter(model: CodedResNeXt, stage: GuidedStage, x: Tensor) -> tuple[str, Tensor, list[Tensor]]:
    """Name of the stage's first block, its input, and the energies on the way to it."""
    energies: list[Tensor] = []
    for step in model.walk(x):
        if step.name == stage.blocks[0]:
            return step.name, step.input, energies
        x = step.finish()
        if step.energies is not None:
            energies.append(step.energies)
    raise AssertionError("the stage is in the network")


def _costs(model: CodedResNeXt, stage: GuidedStage, image: Tensor) -> tuple[float, float]:
    """Multiply-adds of one image outside the stage, and of the network."""
    _, here, _ = _enter(model, stage, image)
    full = network_multiply_adds(model, image)
    branches = [torch.tensor([float(words.shape[1])], dtype=torch.float64) for words in model.words[stage.first :]]
    return full - float(stage.multiply_adds(branches, (here.shape[2], here.shape[3]))), full


def _block_cost(block: Bottleneck, size: tuple[int, int]) -> tuple[float, float, tuple[int, int]]:
    """Multiply-adds of a branch, those of the block whatever its branches, and the height and width of its output."""
    width, stride = block.config.width, block.config.stride
    out = ((size[0] - 1) // stride + 1, (size[1] - 1) // stride + 1)
    pixels, out_pixels = size[0] * size[1], out[0] * out[1]
    inside = block.conv1.in_channels * width * pixels + 9 * width**2 * out_pixels
    outside = width * block.config.out_channels * out_pixels
    energies = width**2 * out_pixels  # of the triangles, which each branch's pixels meet
    shortcut = 0
    if block.downsample is not None:
        for module in block.downsample.modules():
            if isinstance(module, torch.nn.Conv2d):
                shortcut += module.in_channels * module.out_channels * out_pixels
    return float(inside + outside + energies), float(shortcut), out
