"""`codednet exits`: a rule by which decided images leave early, with a promise, and what it saves."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from codednet.errors import CodednetError

if TYPE_CHECKING:
    from rich.console import Console

    from codednet.decoding.exits import ExitPoint
    from codednet.experiments.exits import ExitsRecord

FORMATS = (".svg", ".png", ".pdf")
# Shares of the whole network's cost at which the printed curve is read; the file has every threshold.
PRINTED = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, kw_only=True)
class ExitsConfig:
    """Choose an exit rule for a risk, keep it for `codednet predict`, and measure what it saves on the test split.

    Which blocks are read, and how, is fitted on tune-fit; the threshold is chosen on tune-risk, so that with
    probability 1 - delta or more at most a share `risk` of images is right in full and wrong at its exit. Where that
    cannot be promised, the rule is never to exit.
    """

    run: str
    """A run folder."""
    risk: float = 0.01
    """Largest share of images that may be right in full and wrong at their exit."""
    delta: float = 0.05
    """Largest probability that this share is exceeded."""
    plot: Path | None = None
    """Draw accuracy against multiply-adds and milliseconds here; the ending says the format: svg, png, pdf."""
    rounds: int = 15
    """Rounds of the times, the network with and without exits in turn; 0 takes none."""
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


def run(config: ExitsConfig) -> int:
    """Print the tables, draw the figure; write results/exits.json and results/decoding.json; exit status 0."""
    from codednet.experiments import Subject, result
    from codednet.experiments.exits import EXPERIMENT, ExitsOptions, keep_rule
    from codednet.runs.folder import open_run

    _check_plot(config.plot)
    options = ExitsOptions(risk=config.risk, delta=config.delta, rounds=config.rounds)
    subject = Subject(open_run(config.run), root=config.root, batch=config.batch, device=config.device)
    found = result(EXPERIMENT, subject, options, fresh=config.fresh)
    keep_rule(subject, found.record)  # what is asked for here replaces what was asked for before
    if config.plot is not None:
        from codednet.report.exit_figure import save_exits

        save_exits(found.record, config.plot)
    for name in found.record.left_out:
        print(f"left out: {name}", file=sys.stderr)
    if config.json:
        print(json.dumps(found.document["record"]))
        return 0
    _print(found.record)
    print(f"all numbers: {subject.folder.results / found.file}.json")
    return 0


def _check_plot(path: Path | None) -> None:
    if path is None:
        return
    if path.suffix.lower() not in FORMATS:
        raise CodednetError(f"--plot must end in {', '.join(FORMATS)}; got '{path}'.")
    if not path.parent.is_dir():
        raise CodednetError(f"there is no folder '{path.parent}' to draw '{path.name}' into: make it first.")


def _print(record: "ExitsRecord") -> None:
    from rich.console import Console

    console = Console()
    console.print(_promise(record), highlight=False, soft_wrap=True)
    if record.choice.threshold is not None:
        _print_looks(console, record)
    rows = [("whole network", *_point(record.curve[0])), *_read_curve(record)]
    if record.choice.threshold is not None:
        rows.append(("[bold]this rule[/bold]", *_point(record.chosen)))
    title = f"Accuracy against multiply-adds by threshold, {record.images:,} images of {record.split}"
    heads = ("threshold", "accuracy", "wrong by leaving", "multiply-adds", "of the whole")
    _print_table(console, title, heads, rows)
    _print_times(console, record)


def _promise(record: "ExitsRecord") -> str:
    choice = record.choice
    fitted = f"Fitted on {record.fit_images:,} images of {record.fitted_on}"
    if choice.threshold is None:
        return f"[bold]Never exit:[/bold] {choice.why} {fitted}; every image goes through the whole network."
    looks = ", ".join(look.block for look in record.looks)
    return (
        f"{fitted}: read {looks}; leave from a posterior of [bold]{choice.threshold:.6g}[/bold]. Chosen on "
        f"{choice.images:,} images of {record.chosen_on}: with probability {1 - choice.delta:.4g} or more at most "
        f"{choice.epsilon:.4g} of images are right in full and wrong at their exit; on {record.split} "
        f"{record.chosen.risk:.4g} are."
    )


def _print_looks(console: "Console", record: "ExitsRecord") -> None:
    rows = []
    for one in (*record.looks, record.through):
        accuracies = ["" if value is None else f"{value:.2%}" for value in (one.accuracy, one.full_accuracy)]
        rows.append((one.block, f"{one.images:,}", f"{one.share:.1%}", f"{one.cost:.1%}", *accuracies))
    heads = ("leave after", "images", "share", "multiply-adds, of the whole", "accuracy", "accuracy in full")
    _print_table(console, "Where images leave", heads, rows)


def _read_curve(record: "ExitsRecord") -> list[tuple[str, ...]]:
    """The point nearest to each of the printed shares, each once."""
    points = [min(record.curve[1:], key=lambda point: abs(point.cost - share)) for share in PRINTED]
    once = sorted({point.threshold: point for point in points}.items(), key=lambda item: -(item[0] or 0))
    return [(f"{threshold:.6g}", *_point(point)) for threshold, point in once]


def _point(point: "ExitPoint") -> tuple[str, ...]:
    return f"{point.accuracy:.2%}", f"{point.risk:.2%}", f"{point.multiply_adds / 1e6:,.2f} M", f"{point.cost:.1%}"


def _print_times(console: "Console", record: "ExitsRecord") -> None:
    if not record.times:
        return
    rows = []
    for one in record.times:
        times = (f"{one.whole_milliseconds:,.3f}", f"{one.exits_milliseconds:,.3f}")
        rows.append((str(one.batch), *times, f"{one.speedup:.2f}x" if one.steady else "unsteady"))
    heads = ("images at a time", "whole network", "with exits", "as fast")
    _print_table(console, "Milliseconds an image, median, both in turn", heads, rows)
    for one in record.times:
        if not one.steady:
            console.print(
                f"{one.batch} at a time: the middle half of the rounds spans {one.spread / one.speedup:.0%} of the "
                f"speed-up {one.speedup:.2f}x; run again on an idle machine, or with more --rounds.",
                highlight=False,
                soft_wrap=True,
            )


def _print_table(console: "Console", title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for index, head in enumerate(heads):
        table.add_column(head, justify="right" if index else "left")
    for row in rows:
        table.add_row(*row)
    console.print(table)
