"""Tables of scores: what a network's class paths, and its own logits, say of every image of some batches."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from codednet.data.batch import Batch
from codednet.errors import CodednetError
from codednet.models import CodedResNeXt
from codednet.paths.sweep import DetectorSweep
from codednet.runs.collect import evaluating


class Scores(NamedTuple):
    """Two tables, an image a row and a class a column, and what the images are."""

    paths: NDArray[np.float32]
    """Scores of the networks that are cut out, a class each."""
    logits: NDArray[np.float32]
    """The whole network's own logits."""
    labels: NDArray[np.int64]
    indices: NDArray[np.int64]
    """Place of each image in its data set."""
    unreadable: tuple[str, ...]
    """Images that were left out."""


def score(
    model: CodedResNeXt, splits: Mapping[str, Iterable[Batch]], device: torch.device | str = "cpu", codes: Any = None
) -> dict[str, Scores]:
    """Scores of each split, all classes in one sweep; `codes` cut a plain network, as in `extract`."""
    with evaluating(model, torch.device(device)):
        sweep = DetectorSweep(model, codes=codes)
        return {name: _score(model, sweep, batches, torch.device(device)) for name, batches in splits.items()}


def _score(model: CodedResNeXt, sweep: DetectorSweep, batches: Iterable[Batch], device: torch.device) -> Scores:
    parts: list[tuple[NDArray[Any], ...]] = []
    unreadable: list[str] = []
    for batch in batches:
        images = batch.images.to(device, non_blocking=True)
        tensors = sweep(images), model(images), batch.labels, batch.indices
        parts.append(tuple(tensor.cpu().numpy() for tensor in tensors))
        unreadable += batch.unreadable
    if not parts:
        raise CodednetError("there are no images to score.")
    paths, logits, labels, indices = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Scores(paths, logits, labels, indices, tuple(unreadable))
