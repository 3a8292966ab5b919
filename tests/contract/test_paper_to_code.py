"""docs/paper-to-code.md: what the tables say is where they say."""

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "paper-to-code.md").read_text()
EQUATIONS, TABLES = PAGE.split("## Tables and figures")
ROWS = [row for row in re.findall(r"^\| .* \|$", EQUATIONS, re.MULTILINE) if "`" in row]


def place(name: str) -> object:
    """A module, a class in one, or a folder of the package."""
    if (ROOT / "src" / "codednet" / name).is_dir() and "/" in name:
        return [path.stem for path in (ROOT / "src" / "codednet" / name).iterdir()]
    try:
        return importlib.import_module(f"codednet.{name}")
    except ModuleNotFoundError:
        module, _, last = name.rpartition(".")
        return getattr(importlib.import_module(f"codednet.{module}"), last)


def holds(place: object, name: str) -> bool:
    if isinstance(place, list):
        return name in place
    classes = (
        [value for value in vars(place).values() if isinstance(value, type)] if isinstance(place, ModuleType) else []
    )
    fields = [name in getattr(one, "__annotations__", {}) for one in [place, *classes]]
    variants = getattr(place, "VARIANTS", ())
    return hasattr(place, name) or any(fields) or name in variants


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_every_name_is_where_the_table_says(row):
    _, _, here, where, _ = (cell.strip() for cell in row.split("|"))
    (home,) = re.findall(r"`([^`]+)`", where)
    names = [name for name in re.findall(r"`([^`]+)`", here) if "/" not in name]
    assert all(holds(place(home), name) for name in names), (names, home)


def test_every_experiment_that_is_named_exists_and_those_of_the_paper_are_all_named():
    from codednet.experiments import NAMES

    named = {name for row in re.findall(r"^\| .* \|$", TABLES, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    ours = {"certificate", "evaluate", "overlap", "exits", "guided", "joint", "strangers"}
    assert named == set(NAMES) - ours
