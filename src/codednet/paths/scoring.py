"""Tables of scores: what a network's class paths, and its own logits, say of every image of some batches."""

from collections.abc import Iterable
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
    """Scores of the networks that are cut out, a class each; NaN where nobody wanted them."""
    logits: NDArray[np.float32]
    """The whole network's own logits."""
    labels: NDArray[np.int64]
    indices: NDArray[np.int64]
    """Place of each image in its data set."""
    unreadable: tuple[str, ...]
    """Images that were left out."""


def score(
    model: CodedResNeXt,
    batches: Iterable[Batch],
    device: torch.device | str = "cpu",
    codes: Any = None,
    wanted: NDArray[np.bool_] | None = None,
) -> Scores:
    """Scores of all images of the batches, all classes in one sweep; `codes` cut a plain network, as in `extract`.

    `wanted` says which images (rows, in the order of the batches) each class's network is to see; all by default.
    """
    device = torch.device(device)
    parts: list[tuple[NDArray[Any], ...]] = []
    unreadable: list[str] = []
    seen = 0
    with evaluating(model, device):
        sweep = DetectorSweep(model, codes=codes)
        for batch in batches:
            images = batch.images.to(device, non_blocking=True)
            rows = None if wanted is None else torch.from_numpy(wanted[seen : seen + len(images)])
            seen += len(images)
            if rows is not None and len(rows) != len(images):
                break
            tensors = sweep(images, rows), model(images), batch.labels, batch.indices
            parts.append(tuple(tensor.cpu().numpy() for tensor in tensors))
            unreadable += batch.unreadable
    if wanted is not None and seen != len(wanted):
        raise CodednetError(
            f"images to score must be those that scores are wanted of, {len(wanted):,} of them; there are other images."
        )
    if not parts:
        raise CodednetError("there are no images to score.")
    paths, logits, labels, indices = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Scores(paths, logits, labels, indices, tuple(unreadable))
