"""`codednet predict`: labels for images of one's own."""

import csv
import json
import sys
from dataclasses import asdict, dataclass
from typing import ClassVar, TextIO


@dataclass(frozen=True, kw_only=True)
class PredictConfig:
    """Label images, and folders of images: a line each, with the class and the confidence in it."""

    SHORT: ClassVar = {"-o": "--output"}

    model: str
    """A run folder, a saved network, or the hub's user/repo."""
    paths: list[str]
    """Images, and folders that are searched for images."""
    output: str | None = None
    """CSV file to write; printed when left out."""
    batch: int = 32
    """Images at a time."""
    device: str = "auto"
    """auto, cpu, cuda or mps."""
    json: bool = False
    """Print one JSON object."""


def run(config: PredictConfig) -> int:
    """Print or write a row an image; exit status 0, or 1 when not one image could be read."""
    from codednet.runs.collect import pick_device
    from codednet.runs.folder import load_any
    from codednet.runs.prediction import COLUMNS, find_images, predict

    model = load_any(config.model)
    rows = [asdict(row) for row in predict(model, find_images(config.paths), config.batch, pick_device(config.device))]
    if config.json:
        print(json.dumps({"model": config.model, "predictions": rows}))
    elif config.output:
        with open(config.output, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
            _write(file, rows, COLUMNS)
    else:
        _write(sys.stdout, rows, COLUMNS)
    bad = sum(bool(row["error"]) for row in rows)
    if bad:
        print(f"{bad} of {len(rows)} images could not be read", file=sys.stderr)
    return int(bad == len(rows))


def _write(file: TextIO, rows: list[dict[str, object]], columns: tuple[str, ...]) -> None:
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        confidence = row["confidence"]
        shown = "" if confidence is None else f"{confidence:.4f}"
        writer.writerow(row | {"confidence": shown, "label": row["label"] or "", "error": row["error"] or ""})
