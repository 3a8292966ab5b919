"""What is asked of the data: which set, which splits, which augmentation. No torch."""

import math
from dataclasses import dataclass
from typing import Literal

from codednet.errors import CodednetError, nearest_name

NAMES = (
    "fashion-mini",
    "fashion-mnist",
    "mnist",
    "cifar10",
    "cifar100",
    "imagefolder",
    "webdataset",
    "quickdraw-mini",
)
_CHOICES = {"crop": ("none", "pad", "resized"), "balance": ("none", "sampler", "weights")}


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """A data set, its splits, and what happens to an image before the network sees it."""

    name: str = "fashion-mini"
    """fashion-mini (bundled), fashion-mnist, mnist, cifar10, cifar100, imagefolder or webdataset; quickdraw-mini
    (bundled) has test images alone."""
    root: str | None = None
    """Folder of the data: torchvision's layout, folders of images, or shards. None is ./data."""
    download: bool = True
    """Let torchvision download a data set that the root lacks."""
    image_size: int | None = None
    """Height and width for training; None is the data set's own (224 for folders and shards)."""
    test_size: int | None = None
    """Height and width for evaluation; None is image_size."""
    test_crop: float = 1.0
    """Share of the resized image that the centre crop of an evaluation keeps."""
    mean: tuple[float, ...] | None = None
    """Mean of the channels, for normalisation; None is the data set's own."""
    std: tuple[float, ...] | None = None
    """Standard deviation of the channels, for normalisation; None is the data set's own."""
    crop: Literal["none", "pad", "resized"] = "none"
    """Training crop: none, pad (pad with black, crop anywhere) or resized (random area and aspect ratio)."""
    pad: int = 4
    """Pixels that crop=pad adds on each side."""
    flip: bool = False
    """Mirror half of the training images left to right."""
    randaugment: str = ""
    """RandAugment by timm's string, such as rand-m7-n2-mstd0.5; empty is none."""
    erase: float = 0.0
    """Probability that random erasing overwrites parts of a training image with noise."""
    erase_count: int = 1
    """Most rectangles that random erasing overwrites in one image."""
    mixup: float = 0.0
    """Alpha of mixup; 0 is none."""
    cutmix: float = 0.0
    """Alpha of cutmix; 0 is none. With mixup as well, each batch gets one of the two."""
    tune: float = 0.1
    """Share of the training images kept for tuning, stratified; 0 trains on everything, with nothing to tune on."""
    tune_per_class: int | None = None
    """Images of each class kept for tuning, instead of the share."""
    test_share: float = 0.2
    """Share of the images that is the test split where there is no test folder."""
    split_seed: int = 0
    """Another seed, another draw of the splits."""
    balance: Literal["none", "sampler", "weights"] = "none"
    """Against uneven classes: sampler draws every class alike, weights are for the loss."""
    workers: int | None = None
    """Processes that read and augment images; 0 is none, None chooses. The images do not depend on it."""
    max_unreadable: int = 10
    """Unreadable images that are skipped; one more stops the run."""

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise CodednetError(f"no data set is called {self.name!r}: {nearest_name(self.name, NAMES)}")
        for field, choices in _CHOICES.items():
            if getattr(self, field) not in choices:
                raise CodednetError(f"{field} must be one of {', '.join(choices)}; got {getattr(self, field)!r}.")
        self._check_numbers()
        self._check_statistics()
        if self.root is not None and ("://" in self.root or self.root.startswith("pipe:")):
            raise CodednetError(f"root must be a folder of this machine; got {self.root!r}. Download it first.")

    @property
    def has_tune(self) -> bool:
        """Whether some of the training images are kept for tuning."""
        return bool(self.tune if self.tune_per_class is None else self.tune_per_class)

    def _check_numbers(self) -> None:
        for field in ("image_size", "test_size"):
            size = getattr(self, field)
            if size is not None and size < 1:
                raise CodednetError(f"{field} must be 1 pixel or more; got {size}.")
        if not 0 < self.test_crop <= 1:
            raise CodednetError(f"test_crop is a share above 0, at most 1; got {self.test_crop}.")
        if not 0 <= self.erase <= 1:
            raise CodednetError(f"erase is a probability from 0 to 1; got {self.erase}.")
        if not 0 <= self.tune < 1:
            raise CodednetError(f"tune is a share of train below 1; got {self.tune}. Use 0.1, or 0 for no tune split.")
        if not 0 < self.test_share < 1:
            raise CodednetError(f"test_share is a share above 0 and below 1; got {self.test_share}.")
        least = {"pad": 0, "erase_count": 1, "mixup": 0, "cutmix": 0, "max_unreadable": 0}
        least |= {"tune_per_class": 0, "workers": 0}
        for field, lowest in least.items():
            value = getattr(self, field)
            if value is not None and not (value >= lowest and math.isfinite(value)):
                raise CodednetError(f"{field} must be {lowest} or more; got {value}.")

    def _check_statistics(self) -> None:
        if (self.mean is None) != (self.std is None):
            raise CodednetError("mean and std go together: give both, or neither.")
        if self.mean is None or self.std is None:
            return
        if not self.mean or len(self.mean) != len(self.std) or min(self.std) <= 0:
            raise CodednetError(
                f"mean and std must have a number for each channel, those of std above 0; got {self.mean}, {self.std}."
            )
