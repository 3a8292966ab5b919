"""The report as Markdown, for a README or a model card: the same numbers as the page's, as tables."""

from collections.abc import Sequence

from codednet.report.page import Page
from codednet.report.section import Section, ShownTable

MOST_ROWS = 40
"""Of a table; the CSV files hold all."""


def write_markdown(page: Page) -> str:
    """The report as Markdown."""
    parts = [f"# {_plain(page.title)}", _list(page.about), "## Summary"]
    if page.verdict is not None:
        parts.append(f"**{_plain(page.verdict.title)}** {_plain(page.verdict.text)}")
    if page.facts:
        rows = [(fact.label, fact.text, fact.note, f"`{fact.source}`") for fact in page.facts]
        parts.append(_table(("", "value", "", "from"), (False, True, False, False), rows))
    if page.lacking:
        parts.append(_plain(page.lacking))
    for section in page.sections:
        parts += _section(section)
    return "\n\n".join([*parts, f"{_plain(page.footer)}"]) + "\n"


def _section(section: Section) -> list[str]:
    parts = [f"## {_plain(section.title)}", _plain(section.shows)]
    if section.finding:
        parts.append(f"**{_plain(section.finding)}**")
    if section.missing is not None:
        parts.append(f"*Not measured.* {_plain(section.missing.what)}\n\n    {section.missing.command}")
    if section.failure is not None:
        parts.append(f"*This failed.* {_plain(section.failure)}")
    for table in section.tables:
        parts += _shown(table)
    if section.paper is not None:
        parts += _shown(section.paper)
    if section.made:
        made = ", ".join(f"{what} {value}" for what, value in section.made)
        parts.append(f"From `{section.source}` ({_plain(made)}): `{section.command}`")
    return parts


def _shown(table: ShownTable) -> list[str]:
    rows = [tuple(cell.text for cell in row) for row in table.rows[:MOST_ROWS]]
    parts = [f"**{_plain(table.title)}**", _table(table.columns, table.numeric, rows)]
    if len(table.rows) > MOST_ROWS:
        where = "" if table.download is None else f"; `results/{table.download.name}` holds all"
        parts.append(f"The first {MOST_ROWS} of {len(table.rows)} rows{where}.")
    elif table.left_out:
        parts.append(_plain(table.left_out))
    return parts


def _table(columns: Sequence[str], numeric: Sequence[bool], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---:" if one else "---" for one in numeric], *rows]
    return "\n".join(f"| {' | '.join(_cell(text) for text in line)} |" for line in lines)


def _list(rows: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"- {_plain(what)}: {_plain(value)}" for what, value in rows)


def _cell(text: str) -> str:
    return text if set(text) <= {"-", ":"} or text.startswith("`") else _plain(text)


def _plain(text: str) -> str:
    """Text that Markdown leaves as it is."""
    for letter in "\\`*_[]<>|#":
        text = text.replace(letter, f"\\{letter}")
    return " ".join(text.split())
