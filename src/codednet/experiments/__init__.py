"""Experiments: each table and figure of the paper, and ours: one file, one frozen record. Names load on first use."""

import importlib
from typing import TYPE_CHECKING, Any

from codednet.errors import CodednetError, nearest_name

if TYPE_CHECKING:
    from codednet.experiments.experiment import Experiment
    from codednet.experiments.results import Result, result
    from codednet.experiments.runner import Outcome, run_experiments
    from codednet.experiments.subject import Against, Subject

# In the order of a report. Each is a module here that holds `EXPERIMENT`.
NAMES = (
    "certificate",
    "accuracy",
    "evaluate",
    "architecture",
    "codes",
    "overlap",
    "early",
    "agreement",
    "removal",
    "activations",
    "detectors",
    "outputs",
    "exits",
    "guided",
    "joint",
    "calibration",
    "strangers",
    "cost",
    "ablations",
)

_HOME = {
    "Against": "subject",
    "Experiment": "experiment",
    "Outcome": "runner",
    "Result": "results",
    "Subject": "subject",
    "result": "results",
    "run_experiments": "runner",
}

__all__ = ["NAMES", "Against", "Experiment", "Outcome", "Result", "Subject", "find", "result", "run_experiments"]


def find(name: str) -> "Experiment[Any, Any]":
    """The experiment of this name."""
    if name not in NAMES:
        raise CodednetError(f"no experiment is called {name!r}: {nearest_name(name, NAMES)}")
    found: Experiment[Any, Any] = importlib.import_module(f"codednet.experiments.{name}").EXPERIMENT
    return found


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'codednet.experiments' has no attribute {name!r}")
    return getattr(importlib.import_module(f"codednet.experiments.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
