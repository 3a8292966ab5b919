"""What a section shows of a record: figures made of panels, and key numbers, each with its place in the JSON file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from matplotlib.figure import Figure

from codednet.experiments.experiment import Table

Form: TypeAlias = Literal["percent", "points", "number", "times", "seconds"]
"""How a number is written: a share in per cent, a difference of shares in percentage points, or as it is."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One drawing of a figure."""

    figure: Figure
    title: str
    text: str
    """In words, with numbers: what a reader who does not see it should know."""


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A figure of a section."""

    name: str
    """Short, without spaces; no other figure of the section has it."""
    title: str
    caption: str
    """How to read it."""
    panels: tuple[Panel, ...]
    data: tuple[Table, ...]
    """Every number that is drawn."""


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A key number."""

    label: str
    pointer: str
    """Its place in the JSON file of the result, as in RFC 6901: /record/accuracy."""
    form: Form = "percent"
    note: str = ""
    """What it is to be read beside."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The certificate in a sentence."""

    passed: bool
    title: str
    text: str


def look_up(document: Any, pointer: str) -> Any:
    """The value at a JSON pointer; KeyError, IndexError or ValueError where there is none."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        document = document[int(key)] if isinstance(document, list) else document[key]
    return document


def numbers_in(document: Any, prefix: str = "") -> dict[float, str | None]:
    """The pointer of every fractional number; None where the same number stands in several places."""
    found: dict[float, str | None] = {}
    _gather(document, prefix, found)
    return found


def _gather(document: Any, prefix: str, found: dict[float, str | None]) -> None:
    if isinstance(document, Mapping):
        for key, value in document.items():
            _gather(value, f"{prefix}/{str(key).replace('~', '~0').replace('/', '~1')}", found)
    elif isinstance(document, list | tuple):
        for index, value in enumerate(document):
            _gather(value, f"{prefix}/{index}", found)
    elif isinstance(document, float) and document != int(document):
        found[document] = None if document in found else prefix
