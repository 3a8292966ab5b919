"""From a picture to what the network sees, without augmentation; the same for folders, shards and predictions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PIL import Image
from torch import Tensor

from codednet.data.source import check_channels


@dataclass(frozen=True)
class EvaluationTransform:
    """An image as the network sees it; an object, so that it can be sent to workers."""

    mode: str
    steps: Callable[[Image.Image], Tensor]

    def __call__(self, image: Image.Image) -> Tensor:
        """The normalised tensor of an image."""
        return self.steps(image if image.mode == self.mode else image.convert(self.mode))


def evaluation_transform(pretrained_cfg: Mapping[str, Any], in_chans: int) -> EvaluationTransform:
    """A function of an image that gives a normalised tensor: resized, centre cropped, in as many channels.

    `pretrained_cfg` is preprocessing in timm's form; its test_input_size and test_crop_pct, where it has them, go
    before input_size and crop_pct. The shorter side becomes the size over the crop.
    """
    from timm.data.transforms_factory import create_transform  # takes seconds, which images in memory do without

    check_channels(in_chans)
    size = pretrained_cfg.get("test_input_size") or pretrained_cfg["input_size"]
    steps = create_transform(
        input_size=(in_chans, *size[1:]),
        is_training=False,
        interpolation=pretrained_cfg.get("interpolation") or "bicubic",
        mean=over_channels(pretrained_cfg["mean"], in_chans),
        std=over_channels(pretrained_cfg["std"], in_chans),
        crop_pct=pretrained_cfg.get("test_crop_pct") or pretrained_cfg.get("crop_pct") or 1.0,
        crop_mode=pretrained_cfg.get("crop_mode") or "center",
    )
    return EvaluationTransform("L" if in_chans == 1 else "RGB", steps)


def over_channels(values: Sequence[float], in_chans: int) -> tuple[float, ...]:
    """Statistics of as many channels; those of another number are replaced by their mean, once a channel."""
    if len(values) == in_chans:
        return tuple(values)
    return (sum(values) / len(values),) * in_chans
