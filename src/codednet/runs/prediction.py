"""Labels for images of one's own, those that cannot be read reported in their place."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from codednet.data.evaluation import EvaluationTransform, evaluation_transform
from codednet.data.reading import UnreadableImage, read_image
from codednet.errors import CodednetError
from codednet.models import CodedResNeXt
from codednet.models.preprocessing import preprocessing
from codednet.runs.collect import evaluating

COLUMNS = ("path", "label", "confidence", "error")
SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif", ".ppm", ".pgm", ".avif"}


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What is said of one image."""

    path: str
    label: str | None
    """Name of the class, or its number where classes have no names."""
    confidence: float | None
    """Probability of the class, by softmax."""
    error: str | None
    """Why the image could not be read."""


def find_images(paths: Sequence[str]) -> list[Path]:
    """The files among the paths, and the images in the folders among them, sorted folder by folder."""
    found: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
            if not inside:
                raise CodednetError(f"there are no images in '{path}' ({', '.join(sorted(SUFFIXES))}).")
            found += inside
        elif path.exists():
            found.append(path)
        else:
            raise CodednetError(f"there is no file or folder '{path}'.")
    return found


def predict(
    model: CodedResNeXt, paths: Sequence[Path], batch: int, device: torch.device | str = "cpu"
) -> Iterator[Prediction]:
    """A prediction for every path, in order."""
    transform = evaluation_transform(preprocessing(model.config, model.pretrained_cfg), model.in_chans)
    names = model.config.class_names or [str(index) for index in range(model.num_classes)]
    for start in range(0, len(paths), batch):
        some = paths[start : start + batch]
        read = [_read(path, transform, model.in_chans) for path in some]
        images = [image for image in read if isinstance(image, Tensor)]
        rows: Iterator[tuple[float, int]] = iter(())
        if images:
            with evaluating(model, torch.device(device)):
                best = model(torch.stack(images).to(device)).float().softmax(1).max(1)
            rows = iter(zip(best.values.tolist(), best.indices.tolist(), strict=True))
        for path, image in zip(some, read, strict=True):
            if isinstance(image, str):
                yield Prediction(path=str(path), label=None, confidence=None, error=image)
            else:
                confidence, index = next(rows)
                yield Prediction(path=str(path), label=names[index], confidence=confidence, error=None)


def _read(path: Path, transform: EvaluationTransform, in_chans: int) -> Tensor | str:
    """The image as the network sees it, or why it cannot be read."""
    try:
        return transform(read_image(path, in_chans))
    except UnreadableImage as error:
        return str(error)
