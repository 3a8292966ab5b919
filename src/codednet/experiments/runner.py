"""Many experiments over one subject; one that fails is reported in its place."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from codednet.errors import CodednetError
from codednet.experiments.experiment import Experiment
from codednet.experiments.results import Missing, MissingError, Result, result
from codednet.experiments.subject import Subject


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of one experiment: a result, or what it lacks, or why it failed."""

    experiment: Experiment[Any, Any]
    result: Result[Any] | None = None
    missing: Missing | None = None
    failure: str | None = None
    seconds: float = 0.0


Watch = Callable[[Experiment[Any, Any], Outcome | None], None]
"""Called before each experiment with None, and after it with its outcome."""


def run_experiments(
    subject: Subject, experiments: Sequence[Experiment[Any, Any]], watch: Watch = lambda _experiment, _outcome: None
) -> list[Outcome]:
    """Outcomes in order, each experiment with its usual options."""
    outcomes = []
    for experiment in experiments:
        watch(experiment, None)
        outcome = _run(experiment, subject)
        outcomes.append(outcome)
        watch(experiment, outcome)
    return outcomes


def _run(experiment: Experiment[Any, Any], subject: Subject) -> Outcome:
    started = time.monotonic()

    def outcome(**found: Any) -> Outcome:
        return Outcome(experiment=experiment, seconds=time.monotonic() - started, **found)

    try:
        return outcome(result=result(experiment, subject))
    except MissingError as lacking:
        return outcome(missing=lacking.missing)
    except CodednetError as error:
        return outcome(failure=str(error))
    except Exception as error:  # a page without one figure is better than none
        return outcome(failure=f"{type(error).__name__}: {error}")
