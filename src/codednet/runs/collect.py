"""What a network says of every image of a split, in one pass."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from codednet.data.batch import Batch
from codednet.errors import CodednetError
from codednet.models import CodedResNeXt


class Collected(NamedTuple):
    """Everything that later readings need of one pass over a split, on the CPU in float32."""

    logits: Float[Tensor, "images classes"]
    energies: list[Float[Tensor, "images branches"]]
    """Of every coded block, in order of depth."""
    labels: Int[Tensor, " images"]
    indices: Int[Tensor, " images"]
    """Place of each image in its data set."""
    unreadable: tuple[str, ...]
    """Images that were left out."""


def collect(model: CodedResNeXt, batches: Iterable[Batch], device: torch.device | str = "cpu") -> Collected:
    """Logits, energies and labels of all images of the batches; the network comes back in the mode it was in."""
    device = torch.device(device)
    parts: list[tuple[Tensor, ...]] = []
    unreadable: list[str] = []
    with evaluating(model, device):
        for batch in batches:
            trace = model.trace(batch.images.to(device, non_blocking=True))
            parts.append((batch.labels, batch.indices, trace.logits.float().cpu(), *(e.cpu() for e in trace.energies)))
            unreadable += batch.unreadable
    if not parts:
        raise CodednetError("there are no images to evaluate.")
    labels, indices, logits, *energies = (torch.cat(column) for column in zip(*parts, strict=True))
    return Collected(logits, list(energies), labels, indices, tuple(unreadable))


@contextmanager
def evaluating(model: CodedResNeXt, device: torch.device) -> Iterator[None]:
    """The network in evaluation mode, on the device, in channels_last, without gradients."""
    was_training = model.training
    model.eval().to(device).to(memory_format=torch.channels_last)
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(was_training)


def pick_device(name: str = "auto") -> torch.device:
    """The device of that name; auto is the first accelerator there is, else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "mps" if torch.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise CodednetError(f"there is no device {name!r} here: {str(error).splitlines()[0]}") from None
    return device
