"""What each section of a report says and draws: a module an experiment, named as it is."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from codednet.report.drawing import Drawing, Fact


def _nothing(_record: Any) -> tuple[()]:
    return ()


def _no_names(_record: Any) -> frozenset[str]:
    return frozenset()


def _unsaid(_record: Any) -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class Story:
    """A section in the words of a report."""

    shows: str
    """What the section shows, and how to read it; of use to someone who has read nothing else."""
    finding: Callable[[Any], str] = _unsaid
    """What came of it, in a sentence or two with numbers."""
    draw: Callable[[Any], tuple[Drawing, ...]] = _nothing
    facts: Callable[[Any], tuple[Fact, ...]] = _nothing
    """Key numbers, the most important first."""
    shares: Callable[[Any], frozenset[str]] = _no_names
    """Columns of its tables that hold shares, beside those that say so in their name."""


def story(name: str) -> Story:
    """The story of the experiment of this name."""
    found: Story = importlib.import_module(f"codednet.report.figures.{name}").STORY
    return found
