"""The calls that are worth measuring: a training step and an inference, ready to be run again and again."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from codednet.nn import total_loss


def training_step(
    model: nn.Module,
    images: Tensor,
    loss: Callable[[nn.Module, Tensor], Tensor],
    *,
    bf16: bool = False,
    learning_rate: float = 0.01,
) -> Callable[[], None]:
    """Forward, loss, backward and a step of SGD with momentum; `loss(model, images)` runs under autocast if `bf16`."""
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=0.9)

    def step() -> None:
        with torch.autocast(images.device.type, torch.bfloat16, enabled=bf16):
            value = loss(model, images)
        value.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()  # last, so that a step ends with the memory that it began with

    return step


def usual_loss(model: nn.Module, images: Tensor) -> Tensor:
    """Cross entropy, and the coding loss where there are coded blocks, of the labels 0, 1, 2, ... in turn."""
    trace = model.trace(images)  # type: ignore[operator]
    labels = torch.arange(len(images), device=images.device) % trace.logits.shape[1]
    return total_loss(trace, labels, model.words, mu=6.0)  # type: ignore[arg-type]


def inference(model: nn.Module, images: Tensor, *, bf16: bool = False) -> Callable[[], None]:
    """One pass in evaluation mode, without gradients."""
    model.eval()

    def call() -> None:
        with torch.inference_mode(), torch.autocast(images.device.type, torch.bfloat16, enabled=bf16):
            model(images)

    return call
