"""`codednet predict`: labels for images of one's own."""

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, ClassVar, Literal, TextIO

from codednet.atomic import write_whole
from codednet.errors import CodednetError

if TYPE_CHECKING:
    from codednet.decoding.store import Fitted
    from codednet.runs.folder import RunFolder
    from codednet.runs.prediction import Prediction


@dataclass(frozen=True, kw_only=True)
class PredictConfig:
    """Label images, and folders of images: a row each, with the class and the confidence in it.

    Of a run, what `codednet calibrate` and `codednet exits` fitted is used: confidences are calibrated, and images that
    are decided early leave at the block that `exit` names. `agreement` is the share of the early decoders read on the
    way that name the same class.
    """

    SHORT: ClassVar = {"-o": "--output"}

    model: str
    """A run folder, a saved network, or the hub's user/repo."""
    paths: list[str]
    """Images, and folders that are searched for images."""
    output: Path | None = None
    """File to write (also -o); printed when left out."""
    format: Literal["csv", "jsonl"] | None = None
    """csv, or jsonl with one JSON object a line; what is left out is csv, or jsonl where the output's name says so."""
    exits: bool = True
    """Let images leave early by the run's exit rule, if it has one; false evaluates the whole network."""
    batch: int = 32
    """Images at a time."""
    device: str = "auto"
    """auto, cpu, cuda or mps."""
    json: bool = False
    """Print one JSON object."""

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise CodednetError(f"--batch must be 1 or more; got {self.batch}.")


def run(config: PredictConfig) -> int:
    """Print or write a row an image; exit status 0, or 1 when not one image could be read."""
    from codednet.decoding.answers import fitted_answers
    from codednet.decoding.store import read_fitted
    from codednet.runs.collect import pick_device
    from codednet.runs.folder import RunFolder, load_any
    from codednet.runs.prediction import find_images, predict

    if config.output is not None and not config.output.parent.is_dir():
        raise CodednetError(f"there is no folder '{config.output.parent}' to write into: make it first.")
    paths = find_images(config.paths)
    folder, device = RunFolder(Path(config.model)), pick_device(config.device)
    model = load_any(config.model).to(device)
    fitted = read_fitted(folder)
    for notice in _notices(config, folder, fitted, bool(model.codes)):
        print(notice, file=sys.stderr)
    found = predict(model, paths, config.batch, device, fitted_answers(model, fitted, config.exits))
    rows = _written(found, config)
    bad = sum(row.error is not None for row in rows)
    if config.json:
        print(json.dumps({"model": config.model, "predictions": [row.row() for row in rows]}))
    if bad:
        print(f"{bad} of {len(rows)} images could not be read", file=sys.stderr)
    return int(bad == len(rows))


def _notices(config: PredictConfig, folder: "RunFolder", fitted: "Fitted", coded: bool) -> Iterator[str]:
    """What of a run's fitted values is not used, why, and what to do."""
    run = quote(config.model)
    commands = [f"`codednet calibrate {run}`", *([f"`codednet exits {run}`"] if coded and config.exits else [])]
    lacks = [fitted.calibration is None, coded and config.exits and fitted.exits is None]
    plainly = ("confidences are those of softmax as it is", "no image leaves early")
    lacking = [what for what, lacks_it in zip(plainly, lacks, strict=True) if lacks_it]
    if lacking:
        if not folder.config_file.is_file():
            why = "only a run folder keeps fitted values."
        elif fitted.stale:
            why = f"what was fitted is of other weights than the run has now; fit again with {' and '.join(commands)}."
        elif not folder.config().data.has_tune:
            why = "the run trained on everything, so it has no tune split to fit on."
        else:
            these = [command for command, lacks_it in zip(commands, lacks, strict=False) if lacks_it]
            why = f"nothing was fitted yet; run {' and '.join(these)}."
        yield f"{' and '.join(lacking)}: {why}"
    rule = fitted.exits
    if config.exits and rule is not None and rule.choice.threshold is None:
        yield f"no image leaves early: {rule.choice.why}"


def _written(found: "Iterable[Prediction]", config: PredictConfig) -> "list[Prediction]":
    """All predictions: printed as they come, or written to the file that was named, unless one JSON object is."""
    named = config.output is not None and config.output.suffix.lower() == ".jsonl"
    form = config.format or ("jsonl" if named else "csv")
    if config.output is None and not config.json:
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="surrogateescape")  # names of files need not be valid text
        return _write(sys.stdout, found, form)
    rows = list(found)
    if config.output is not None:
        write_whole(config.output, lambda path: _write_file(path, rows, form))
    return rows


def _write_file(path: Path, rows: "Iterable[Prediction]", form: str) -> None:
    with path.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        _write(file, rows, form)


def _write(file: TextIO, rows: "Iterable[Prediction]", form: str) -> "list[Prediction]":
    from codednet.runs.prediction import COLUMNS

    done = []
    table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    if form == "csv":
        table.writeheader()
    for row in rows:
        done.append(row)
        if form == "csv":
            table.writerow(row.row() | {"confidence": _shown(row.confidence), "agreement": _shown(row.agreement)})
        else:
            file.write(json.dumps(row.row()) + "\n")
    return done


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
