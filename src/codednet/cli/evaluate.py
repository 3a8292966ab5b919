"""`codednet evaluate`: what a trained network gets right on a split."""

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codednet.runs.evaluation import Evaluation

LISTED = 20


@dataclass(frozen=True, kw_only=True)
class EvaluateConfig:
    """Measure a run's accuracy on a split: top-1, top-5, class by class, its early decoders, the confusions."""

    run: str
    """A run folder."""
    split: str = "test"
    """test, tune, tune-fit, tune-risk or train."""
    root: str | None = None
    """Folder of the data, where it is another than the run was trained with."""
    batch: int = 128
    """Images at a time."""
    device: str = "auto"
    """auto, cpu, cuda or mps."""
    json: bool = False
    """Print one JSON object."""


def run(config: EvaluateConfig) -> int:
    """Print the table; measure it first and write results/evaluate-SPLIT.json, unless it is there; exit status 0."""
    from codednet.experiments import Subject, result
    from codednet.experiments.evaluate import EXPERIMENT, EvaluateOptions
    from codednet.runs.folder import open_run

    subject = Subject(open_run(config.run), root=config.root, batch=config.batch, device=config.device)
    found = result(EXPERIMENT, subject, EvaluateOptions(split=config.split))
    for name in found.record.left_out:
        print(f"left out: {name}", file=sys.stderr)
    if config.json:
        print(json.dumps(found.document["record"]))
    else:
        _print(found.record)
    return 0


def _print(found: "Evaluation") -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(markup=False)  # names of classes may hold brackets
    top5 = f", top-5 {found.top5:.2%}" if found.top5 is not None else ""
    console.print(
        f"{found.split}, {found.images:,} images: accuracy {found.accuracy:.2%}{top5}",
        highlight=False,
    )
    if found.decoders:
        table = Table(title="Early decoders", title_justify="left")
        table.add_column("after block")
        table.add_column("accuracy", justify="right")
        for name, accuracy in found.decoders.items():
            table.add_row(name, f"{accuracy:.2%}")
        console.print(table)
    table = Table(title="Classes", title_justify="left")
    for head in ("class", "images", "accuracy", "mostly taken for"):
        table.add_column(head, justify="left" if head in ("class", "mostly taken for") else "right")
    hardest = sorted(found.classes, key=lambda row: row.accuracy if row.accuracy is not None else 2)
    for row in hardest[:LISTED]:
        shown = "" if row.accuracy is None else f"{row.accuracy:.2%}"
        table.add_row(row.name, f"{row.images:,}", shown, row.taken_for or "")
    console.print(table)
    if len(found.classes) > LISTED:
        console.print(f"and {len(found.classes) - LISTED} easier ones; --json lists all.")
