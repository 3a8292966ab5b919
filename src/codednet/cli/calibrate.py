"""`codednet calibrate`: confidences that can be believed."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from codednet.decoding.protocol import ProtocolRecord, Spread
    from codednet.experiments.calibration import CalibrationRecord, FittedConfidence

METHODS = {
    "softmax": "softmax as it is",
    "h_T": "h_T, one temperature",
    "h_aug": "h_aug, with early decoders",
    "agreement": "agreeing decoders alone",
}


@dataclass(frozen=True, kw_only=True)
class CalibrateConfig:
    """Fit the confidences of a run on tune-fit, keep them for `codednet predict`, and measure them on the test split.

    Beside it the paper's protocol: over many random splits of the test images, fitted on one part and measured on the
    other; nothing of that is kept.
    """

    run: str
    """A run folder."""
    splits: int = 41
    """Random splits of the protocol, for each of the shares 25 % and 50 %."""
    bins: int = 15
    """Bins of confidence, of equal width."""
    seed: int = 0
    """Seed of the splits."""
    fresh: bool = False
    """Measure again, even where nothing has changed."""
    root: str | None = None
    """Folder of the data, where it is another than the run was trained with."""
    batch: int = 128
    """Images at a time."""
    device: str = "auto"
    """auto, cpu, cuda or mps."""
    json: bool = False
    """Print one JSON object."""


def run(config: CalibrateConfig) -> int:
    """Print the tables; write results/calibration.json and results/decoding.json; exit status 0."""
    from codednet.experiments import Subject, result
    from codednet.experiments.calibration import EXPERIMENT, CalibrationOptions
    from codednet.runs.folder import open_run

    options = CalibrationOptions(splits=config.splits, bins=config.bins, seed=config.seed)
    subject = Subject(open_run(config.run), root=config.root, batch=config.batch, device=config.device)
    found = result(EXPERIMENT, subject, options, fresh=config.fresh)
    for name in found.record.left_out:
        print(f"left out: {name}", file=sys.stderr)
    if config.json:
        print(json.dumps(found.document["record"]))
        return 0
    _print(found.record)
    print(f"all numbers: {subject.folder.results / found.file}.json")
    return 0


def _print(record: "CalibrationRecord") -> None:
    from rich.console import Console

    console = Console()
    if record.fitted is None:
        console.print(f"[bold]Nothing fitted for predictions.[/bold] {record.why_not_fitted}", soft_wrap=True)
    else:
        _print_fitted(console, record, record.fitted)
    if record.protocol is None:
        console.print(f"[bold]No protocol.[/bold] {record.why_no_protocol}", highlight=False, soft_wrap=True)
    else:
        _print_protocol(console, record.protocol)


def _print_fitted(console: "Console", record: "CalibrationRecord", fitted: "FittedConfidence") -> None:
    aug = ""
    if fitted.h_aug is not None:
        taus = ", ".join(f"{tau:+.2f}" for tau in fitted.h_aug.taus)
        aug = f"; h_aug: T = {fitted.h_aug.temperature:.3f}, tau = {taus} by early decoder"
    console.print(
        f"Fitted on {fitted.images:,} images of {fitted.fitted_on}, kept in the run for predictions. "
        f"h_T: T = {fitted.h_T:.3f}{aug}.",
        highlight=False,
        soft_wrap=True,
    )
    rows = []
    for one in fitted.methods:
        q = one.quality
        rest = ("", "", "") if q is None else (f"{q.brier:.4f}", f"{q.nll:.4f}", f"{q.classwise_ece:.2%}")
        rows.append((METHODS[one.method], f"{one.ece:.2%}", f"{one.mce:.2%}", *rest))
    title = f"Measured on {record.images:,} images of {record.split}, accuracy {record.accuracy:.2%}"
    _print_table(console, title, ("confidence", "ECE", "MCE", "Brier", "NLL", "class-wise ECE"), rows)


def _print_protocol(console: "Console", protocol: "ProtocolRecord") -> None:
    for share in protocol.shares:
        rows = [
            (METHODS[one.method], _percent(one.ece), _percent(one.mce), _plain(one.brier), _plain(one.nll))
            for one in share.methods
        ]
        title = (
            f"Paper's protocol: fitted on {share.share:.0%} of the test images ({share.fitted_on:,}), measured on "
            f"the others ({share.measured_on:,}), mean ± standard deviation of {protocol.splits} splits"
        )
        _print_table(console, title, ("confidence", "ECE", "MCE", "Brier", "NLL"), rows)


def _percent(spread: "Spread") -> str:
    return f"{spread.mean:.2%} ± {spread.std * 100:.2f}"


def _plain(spread: "Spread | None") -> str:
    return "" if spread is None else f"{spread.mean:.4f} ± {spread.std:.4f}"


def _print_table(console: "Console", title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for index, head in enumerate(heads):
        table.add_column(head, justify="right" if index else "left")
    for row in rows:
        table.add_row(*row)
    console.print(table)
