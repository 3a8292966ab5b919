"""Labels for images of one's own, those that cannot be read reported in their place."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from codednet.data.evaluation import EvaluationTransform, evaluation_transform
from codednet.data.reading import UnreadableImage, read_image
from codednet.errors import CodednetError
from codednet.models import CodedResNeXt
from codednet.models.preprocessing import preprocessing
from codednet.nn.decode import decode
from codednet.runs.collect import evaluating

COLUMNS = ("path", "label", "confidence", "exit", "agreement", "error")
SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif", ".ppm", ".pgm", ".avif"}


class Answer(NamedTuple):
    """What a network says of one image."""

    label: int
    """Number of the class."""
    confidence: float
    exit: str | None = None
    """Name of the coded block that the image left at; None where it went through the whole network."""
    agreement: float | None = None
    """Share of the early decoders read on the way that name the same class; None where there are none."""


Answering: TypeAlias = Callable[[Float[Tensor, "batch channels height width"]], Sequence[Answer]]
"""A way to answers: one for each image of a batch, from a network that is in evaluation mode."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """What is said of one image; without a label, why there is none."""

    path: str
    label: str | None
    """Name of the class, or its number where classes have no names."""
    confidence: float | None
    """Probability of the class."""
    exit: str | None
    """Name of the coded block that the image left at; None where it went through the whole network."""
    agreement: float | None
    """Share of the early decoders read on the way that name the same class."""
    error: str | None
    """Why the image could not be read."""

    def row(self) -> dict[str, object]:
        """The prediction by column."""
        return asdict(self)


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


def softmax_answers(model: CodedResNeXt) -> Answering:
    """Answers of the whole network, with confidence by softmax as it is."""

    def answers(images: Tensor) -> list[Answer]:
        trace = model.trace(images)
        top = trace.logits.float().softmax(1).max(1)
        agreement: Sequence[float | None] = [None] * len(images)
        if model.codes and model.num_classes > 1:  # of one class alone, decoders have nothing to choose
            agreement = (decode(trace.energies, model.words) == top.indices).double().mean(0).tolist()
        return list(map(Answer, top.indices.tolist(), top.values.tolist(), [None] * len(images), agreement))

    return answers


def predict(
    model: CodedResNeXt,
    paths: Sequence[Path],
    batch: int,
    device: torch.device | str = "cpu",
    answers: Answering | None = None,
) -> Iterator[Prediction]:
    """A prediction for every path, in order; by default as `softmax_answers` says."""
    answers = answers or softmax_answers(model)
    transform = evaluation_transform(preprocessing(model.config, model.pretrained_cfg), model.in_chans)
    names = model.config.class_names or [str(index) for index in range(model.num_classes)]
    for start in range(0, len(paths), batch):
        some = paths[start : start + batch]
        read = [_read(path, transform, model.in_chans) for path in some]
        images = [image for image in read if isinstance(image, Tensor)]
        found: Iterator[Answer] = iter(())
        if images:
            with evaluating(model, torch.device(device)):
                found = iter(answers(torch.stack(images).to(device)))
        for path, image in zip(some, read, strict=True):
            yield _refused(path, image) if isinstance(image, str) else _answered(path, next(found), names)


def _answered(path: Path, answer: Answer, names: Sequence[str]) -> Prediction:
    return Prediction(
        path=str(path),
        label=names[answer.label],
        confidence=answer.confidence,
        exit=answer.exit,
        agreement=answer.agreement,
        error=None,
    )


def _refused(path: Path, error: str) -> Prediction:
    return Prediction(path=str(path), label=None, confidence=None, exit=None, agreement=None, error=error)


def _read(path: Path, transform: EvaluationTransform, in_chans: int) -> Tensor | str:
    """The image as the network sees it, or why it cannot be read."""
    try:
        return transform(read_image(path, in_chans))
    except UnreadableImage as error:
        return str(error)
