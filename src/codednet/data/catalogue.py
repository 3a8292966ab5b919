"""The data sets by name: their statistics, and how each is found."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codednet.data.config import DataConfig
from codednet.data.found import Found
from codednet.errors import CodednetError


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What is known of a data set before it is opened."""

    in_chans: int
    size: int
    """Height and width of its images, or those that networks for it are made for."""
    mean: tuple[float, ...]
    std: tuple[float, ...]
    torchvision: str | None = None
    """Name of torchvision's class."""


_IMAGENET: dict[str, Any] = {
    "in_chans": 3,
    "size": 224,
    "mean": (0.485, 0.456, 0.406),
    "std": (0.229, 0.224, 0.225),
}
_FASHION: dict[str, Any] = {"in_chans": 1, "size": 28, "mean": (0.2860,), "std": (0.3530,)}
ENTRIES = {
    "fashion-mini": Entry(**_FASHION),
    "fashion-mnist": Entry(**_FASHION, torchvision="FashionMNIST"),
    "mnist": Entry(in_chans=1, size=28, mean=(0.1307,), std=(0.3081,), torchvision="MNIST"),
    "cifar10": Entry(
        in_chans=3, size=32, mean=(0.4914, 0.4822, 0.4465), std=(0.2470, 0.2435, 0.2616), torchvision="CIFAR10"
    ),
    "cifar100": Entry(
        in_chans=3, size=32, mean=(0.5071, 0.4865, 0.4409), std=(0.2673, 0.2564, 0.2762), torchvision="CIFAR100"
    ),
    "imagefolder": Entry(**_IMAGENET),
    "webdataset": Entry(**_IMAGENET),
    "quickdraw-mini": Entry(in_chans=1, size=28, mean=(0.1508,), std=(0.3119,)),
}


def find(config: DataConfig) -> Found:
    """The images of the data set that the config names."""
    if config.name == "fashion-mini":
        from codednet.data.fashion_mini import fashion_mini

        return fashion_mini()
    if config.name == "quickdraw-mini":
        from codednet.data.quickdraw_mini import quickdraw_mini

        if config.has_tune:
            raise CodednetError(
                "quickdraw-mini has test images alone: train on another data set, or open it with tune=0 to test on it."
            )
        return quickdraw_mini()
    if (known := ENTRIES[config.name].torchvision) is not None:
        from codednet.data.from_torchvision import open_torchvision

        return open_torchvision(known, Path(config.root or "data"), config.download)
    if config.root is None:
        raise CodednetError(f"{config.name} needs a root: the folder of the data.")
    if config.name == "imagefolder":
        from codednet.data.folders import open_folders

        return open_folders(Path(config.root))
    from codednet.data.shards import open_shards

    return open_shards(Path(config.root))
