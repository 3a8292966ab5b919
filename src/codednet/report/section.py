"""What came of an experiment, as the parts of a section that a page or Markdown shows."""

import base64
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codednet.experiments import Outcome
from codednet.experiments.experiment import Cell, Table
from codednet.experiments.paper import PaperNumber, paper_numbers
from codednet.experiments.results import Missing, csv_text
from codednet.report.drawing import Drawing, Fact, Form, look_up, numbers_in
from codednet.report.figures import Story, story
from codednet.report.style import house_style
from codednet.report.svg import to_svg
from codednet.report.wording import form_of, write_number, write_seconds

FOLD_ABOVE = 12
"""Rows; longer tables open on request."""
MOST_ROWS, MOST_COLUMNS = 400, 24
"""What of a table a page shows; the CSV file holds all."""
MOST_LETTERS = 1_500_000
"""Of a CSV file inside the page; what is longer lies in results/ alone."""


@dataclass(frozen=True, kw_only=True)
class ShownCell:
    """A cell, and the pointer of its number in the JSON file where only one place can be meant."""

    text: str
    source: str | None
    numeric: bool


@dataclass(frozen=True, kw_only=True)
class Download:
    """A file in the page."""

    name: str
    address: str
    """A data address; empty for what is too long, which lies under this name in results/."""


@dataclass(frozen=True, kw_only=True)
class ShownTable:
    """A table as far as a page shows it."""

    title: str
    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[ShownCell, ...], ...]
    folded: bool
    left_out: str
    """What is not shown; empty for a whole table."""
    download: Download | None
    """None of numbers that come from elsewhere."""


@dataclass(frozen=True, kw_only=True)
class ShownPanel:
    """One drawing, and what it says in words."""

    svg: str
    text: str


@dataclass(frozen=True, kw_only=True)
class ShownDrawing:
    """A figure, drawn."""

    id: str
    title: str
    caption: str
    panels: tuple[ShownPanel, ...]
    downloads: tuple[Download, ...]


@dataclass(frozen=True, kw_only=True)
class ShownFact:
    """A key number and where it comes from."""

    label: str
    text: str
    source: str
    note: str


@dataclass(frozen=True, kw_only=True)
class Section:
    """One experiment on a page."""

    name: str
    title: str
    shows: str
    source: str | None
    """The JSON file, below the run's folder."""
    finding: str = ""
    facts: tuple[ShownFact, ...] = ()
    drawings: tuple[ShownDrawing, ...] = ()
    tables: tuple[ShownTable, ...] = ()
    paper: ShownTable | None = None
    """The paper's own numbers."""
    made: tuple[tuple[str, str], ...] = ()
    """How the numbers were made: what, and its value."""
    command: str = ""
    missing: Missing | None = None
    failure: str | None = None


def make_section(outcome: Outcome, command: str) -> Section:
    """The section of an outcome; `command` is what measures it."""
    name = outcome.experiment.name
    told = story(name)
    if outcome.result is None:
        return Section(
            name=name,
            title=outcome.experiment.title,
            shows=told.shows,
            source=None,
            command=command,
            missing=outcome.missing,
            failure=outcome.failure,
        )
    result = outcome.result
    tables = outcome.experiment.tables(result.record)
    drawings, failure = _drawn(name, told, result.record)
    numbers = numbers_in(result.document)
    return Section(
        name=name,
        title=outcome.experiment.title,
        shows=told.shows,
        source=f"results/{result.file}.json",
        finding=told.finding(result.record),
        facts=tuple(_fact(fact, result.document, result.file) for fact in told.facts(result.record)),
        drawings=drawings,
        tables=tuple(show_table(table, result.file, numbers, told.shares(result.record)) for table in tables),
        paper=_paper(name, result.document),
        made=_making(result.document),
        command=command,
        failure=failure,
    )


def show_table(
    table: Table, file: str, numbers: Mapping[float, str | None], shares: Collection[str] = ()
) -> ShownTable:
    """A table as a page shows it: numbers as readers want them, `shares` among them in per cent, its length capped."""
    forms: list[Form] = [
        form_of(name, [row[at] for row in table.rows], shares) for at, name in enumerate(table.columns)
    ]
    numeric = tuple(_is_numeric([row[at] for row in table.rows]) for at in range(len(table.columns)))
    rows, columns = table.rows[:MOST_ROWS], table.columns[:MOST_COLUMNS]
    left_out = []
    if len(rows) < len(table.rows):
        left_out.append(f"the first {len(rows)} of {len(table.rows)} rows")
    if len(columns) < len(table.columns):
        left_out.append(f"the first {len(columns)} of {len(table.columns)} columns")
    return ShownTable(
        title=table.title,
        columns=columns,
        numeric=numeric[: len(columns)],
        rows=tuple(
            tuple(_cell(value, forms[at], numbers) for at, value in enumerate(row[: len(columns)])) for row in rows
        ),
        folded=len(rows) > FOLD_ABOVE,
        left_out=f"Shown are {' and '.join(left_out)}; the CSV file holds all." if left_out else "",
        download=_download(table, file),
    )


def _cell(value: Cell, form: Form, numbers: Mapping[float, str | None]) -> ShownCell:
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    source = numbers.get(value) if isinstance(value, float) else None
    return ShownCell(text=write_number(value, form), source=source, numeric=numeric)


def _is_numeric(values: Sequence[Cell]) -> bool:
    given = [value for value in values if value is not None]
    return bool(given) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in given)


def _download(table: Table, file: str) -> Download:
    name = f"{file}-{table.name}.csv" if table.name else f"{file}.csv"
    text = csv_text(table)
    if len(text) > MOST_LETTERS:
        return Download(name=name, address="")
    return Download(name=name, address=f"data:text/csv;base64,{base64.b64encode(text.encode()).decode()}")


def _paper(name: str, document: Mapping[str, Any]) -> ShownTable | None:
    """The paper's numbers, and ours beside those that the record has too."""
    rows = []
    for number in paper_numbers(name):
        theirs = f"{number.value:g}{'%' if number.unit == '%' else f' {number.unit}' if number.unit else ''}"
        text, source = _ours(number, document)
        cells = (number.what, number.data, number.where, theirs)
        rows.append(
            (
                *(ShownCell(text=cell, source=None, numeric=False) for cell in cells),
                ShownCell(text=text, source=source, numeric=True),
            )
        )
    if not rows:
        return None
    return ShownTable(
        title="The paper's own numbers, beside ours of this run and its data",
        columns=("what", "data set of the paper", "where in the paper", "the paper's", "ours"),
        numeric=(False, False, False, True, True),
        rows=tuple(rows),
        folded=len(rows) > FOLD_ABOVE,
        left_out="",
        download=None,
    )


def _ours(number: PaperNumber, document: Mapping[str, Any]) -> tuple[str, str | None]:
    if number.ours is None:
        return "", None
    pointer = f"/record{number.ours}"
    try:
        value = look_up(document, pointer)
    except (KeyError, IndexError, TypeError, ValueError):
        return "", None
    if value is None:
        return "", None
    if number.unit == "million":
        return f"{value / 1e6:.3g} million", pointer
    return write_number(value, "percent" if number.unit == "%" else "number"), pointer


def _drawn(name: str, told: Story, record: Any) -> tuple[tuple[ShownDrawing, ...], str | None]:
    """The figures; and why there are none, where drawing failed: a section without its figure is better than none."""
    try:
        with house_style():
            return tuple(_show(name, drawing) for drawing in told.draw(record)), None
    except Exception as error:
        return (), f"The figure could not be drawn: {type(error).__name__}: {error}"


def _show(name: str, drawing: Drawing) -> ShownDrawing:
    own = f"{name}-{drawing.name}"
    if len(drawing.panels) == 1:  # the figure's title says it
        for axes in drawing.panels[0].figure.axes:
            axes.set_title("")
    panels = [
        ShownPanel(svg=to_svg(panel.figure, f"{own}-{number}", panel.title, panel.text), text=panel.text)
        for number, panel in enumerate(drawing.panels, start=1)
    ]
    return ShownDrawing(
        id=own,
        title=drawing.title,
        caption=drawing.caption,
        panels=tuple(panels),
        downloads=tuple(_download(table, f"figure-{own}") for table in drawing.data),
    )


def _fact(fact: Fact, document: Mapping[str, Any], file: str) -> ShownFact:
    return ShownFact(
        label=fact.label,
        text=write_number(look_up(document, fact.pointer), fact.form),
        source=f"results/{file}.json#{fact.pointer}",
        note=fact.note,
    )


def _making(document: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Date, seconds, split, images, options and network of a result."""
    record, key = document["record"], document["key"]
    rows = [("measured", document["made"]), ("took", write_seconds(document["seconds"]))]
    for field in ("split", "fitted_on", "fit_on", "measured_on", "images", "against"):
        if isinstance(record, Mapping) and record.get(field) not in (None, [], {}):
            rows.append((field.replace("_", " "), _written(record[field])))
    if key["options"]:
        rows.append(("options", _written(key["options"])))
    rows.append(("network", f"SHA-256 {key['network'][:16]}…"))
    if key.get("machine"):
        rows.append(("machine", _written(key["machine"])))
    return tuple(rows)


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_written(entry)}" for key, entry in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_written(entry) for entry in value)
    return write_number(value)
