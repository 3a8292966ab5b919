"""What an experiment is: a question asked of a run, the record that answers it, and how the record is kept."""

import hashlib
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from codednet.experiments.documents import to_document
from codednet.experiments.subject import Subject

O = TypeVar("O")  # noqa: E741
R = TypeVar("R")

Need: TypeAlias = Literal["coded", "tune", "baseline", "sweep", "against"]
"""What an experiment cannot do without: coded blocks, a tune split, the plain twin, a sweep, images of no class."""
Cell: TypeAlias = str | int | float | None


# Letters of options in a file's name; of more, a digest stands for the rest.
_LONGEST = 80


@dataclass(frozen=True, kw_only=True)
class Table:
    """A record, or a part of it, as rows: what CSV files, the page and Markdown show."""

    name: str
    """Short, without spaces: part of a file's name."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, kw_only=True)
class NoOptions:
    """Options of an experiment that has none."""


@dataclass(frozen=True, kw_only=True)
class Experiment(Generic[O, R]):
    """One table or figure. `measure` writes nothing; `results.result` keeps what it returns."""

    name: str
    """Of its file in results/."""
    title: str
    version: int
    """Raised when the same input would give another record."""
    record: type[R]
    measure: Callable[[Subject, O], R]
    tables: Callable[[R], tuple[Table, ...]]
    options: type[O] = field(default=NoOptions)  # type: ignore[assignment]
    needs: frozenset[Need] = frozenset()
    uses: frozenset[Need] = frozenset()
    """What changes the record where it is given."""
    builds_on: tuple[str, ...] = ()
    """Names of the experiments whose results it reads; their versions are part of its own."""
    timed: bool = False
    """Whether the record holds times of this machine."""
    keep: Callable[[Subject, R], None] | None = None
    """What is kept in the run for other commands, such as thresholds."""
    variant: Callable[[O], str] | None = None
    """What options add to the name of the file, so that each variant has its own."""

    def file_name(self, options: O) -> str:
        """Name in results/, without suffix: that of the experiment, and what sets unusual options apart."""
        if self.variant is not None:
            return f"{self.name}-{self.variant(options)}"
        changed = changed_options(options)
        spelled = ",".join(f"{key}={value}" for key, value in changed.items())
        if len(spelled) > _LONGEST:
            spelled = f"{spelled[:_LONGEST]}-{hashlib.sha256(spelled.encode()).hexdigest()[:8]}"
        return f"{self.name}-{_plain(spelled)}" if changed else self.name


def changed_options(options: Any) -> dict[str, Any]:
    """The options that differ from what they are when nobody asks."""
    usual = to_document(type(options)()) if _has_defaults(options) else {}
    return {key: value for key, value in to_document(options).items() if key not in usual or usual[key] != value}


def _has_defaults(options: Any) -> bool:
    return all(f.default is not MISSING or f.default_factory is not MISSING for f in fields(options))


def _plain(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "=,._-" else "_" for letter in text)
