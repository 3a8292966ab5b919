"""A bar over experiments, on standard error."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from codednet.experiments import Experiment, Outcome
    from codednet.experiments.runner import Watch


@contextmanager
def experiments_bar(total: int) -> "Iterator[Watch]":
    """What `run_experiments` tells of each experiment, shown as one bar that goes when all are done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)

        def watch(experiment: "Experiment[Any, Any]", outcome: "Outcome | None") -> None:
            bar.update(task, description=experiment.title, advance=0 if outcome is None else 1)

        yield watch
