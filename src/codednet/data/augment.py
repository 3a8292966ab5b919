"""Training transforms of single images: crop, flip, RandAugment, erasing, from torchvision and timm."""

from collections.abc import Callable, Sequence
from typing import Any

from PIL import Image, ImageOps
from torch import Tensor

from codednet.data.config import DataConfig
from codednet.errors import CodednetError


def training_transform(
    config: DataConfig, size: int, mean: Sequence[float], std: Sequence[float]
) -> Callable[[Image.Image], Tensor]:
    """A function of an image that gives an augmented, normalised tensor; it draws from the global random streams."""
    from timm.data.random_erasing import RandomErasing  # takes seconds, which images in memory do without
    from torchvision.transforms import Compose, Normalize, ToTensor, v2

    steps: list[Any] = _crop(config, size)
    if config.flip:
        steps.append(v2.RandomHorizontalFlip())
    if config.randaugment:
        steps.append(_randaugment(config.randaugment, size, mean))
    steps += [ToTensor(), Normalize(list(mean), list(std))]
    if config.erase:
        erase = RandomErasing(config.erase, mode="pixel", max_count=config.erase_count, device="cpu")  # type: ignore[no-untyped-call]
        steps.append(erase)
    transform: Callable[[Image.Image], Tensor] = Compose(steps)
    return transform


def _crop(config: DataConfig, size: int) -> list[Any]:
    from timm.data.transforms import RandomResizedCropAndInterpolation
    from torchvision.transforms.v2 import CenterCrop, InterpolationMode, RandomCrop, Resize

    if config.crop == "resized":
        return [RandomResizedCropAndInterpolation(size, interpolation="random")]  # type: ignore[no-untyped-call]
    whole = [Resize(size, InterpolationMode.BICUBIC), CenterCrop(size)]
    return [*whole, RandomCrop(size, padding=config.pad)] if config.crop == "pad" else whole


def _randaugment(policy: str, size: int, mean: Sequence[float]) -> Any:
    """What timm's own create_transform makes of the string."""
    from timm.data.auto_augment import rand_augment_transform

    colour = tuple(min(255, round(255 * value)) for value in mean)
    constants = {"translate_const": int(size * 0.45), "img_mean": colour if len(colour) > 1 else colour[0]}
    try:
        augment = rand_augment_transform(policy, constants)
    except (AssertionError, KeyError, ValueError) as error:
        raise CodednetError(
            f"randaugment must be one of timm's strings, such as rand-m7-n2-mstd0.5; got {policy!r}."
        ) from error
    for step in augment.ops:
        if step.name.startswith("Posterize"):
            step.aug_fn = _posterize
    return augment


def _posterize(image: Image.Image, bits: int, **_: Any) -> Image.Image:
    """The image with its highest bits alone; with none, as strong policies ask, black, where PIL refuses."""
    if bits >= 8:
        return image
    return ImageOps.posterize(image, bits) if bits > 0 else Image.new(image.mode, image.size)
