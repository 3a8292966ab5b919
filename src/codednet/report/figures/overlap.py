"""Overlap of class paths."""

from codednet.experiments.experiment import Cell, Table
from codednet.experiments.overlap import OverlapRecord
from codednet.report.drawing import Drawing, Panel
from codednet.report.figures import Story
from codednet.report.shapes import Names, shades
from codednet.report.wording import capped, write_number

SHOWS = (
    "How much of their paths two classes share: the parameters of branches that work for both, of the parameters of "
    "all branches that work for one. What serves every class alike, such as the stem, is left out of the count."
)
MOST_CELLS = 20
WITH_NUMBERS = 12


def finding(record: OverlapRecord) -> str:
    """Mean, most and least shared."""
    if record.mean_share is None or record.most is None or record.least is None:
        return "There is a single class, which shares its path with none."
    return (
        f"Two classes share {write_number(record.mean_share, 'percent')} of the parameters of their branches on "
        f"average: most {record.most.first} and {record.most.second} ({write_number(record.most.share, 'percent')}), "
        f"least {record.least.first} and {record.least.second} ({write_number(record.least.share, 'percent')})."
    )


def draw(record: OverlapRecord) -> tuple[Drawing, ...]:
    """Shared parameters, class by class."""
    names = list(record.shown[:MOST_CELLS])
    cells = [list(row[:MOST_CELLS]) for row in record.parameters[:MOST_CELLS]]
    numbers = len(names) <= WITH_NUMBERS
    figure = shades(cells, names, names, Names(title="Shared parameters", x="class", y="class"), numbers=numbers)
    rows: tuple[tuple[Cell, ...], ...] = tuple((name, *row) for name, row in zip(names, cells, strict=True))
    return (
        Drawing(
            name="classes",
            title="Parameters that two classes share",
            caption=f"{capped(len(names), record.classes, 'classes, the first')}Per cent of the parameters of the "
            "branches of a class (row) that also work for another (column).",
            panels=(Panel(figure=figure, title="Parameters that two classes share", text=finding(record)),),
            data=(Table(name="", title="Shared parameters", columns=("class", *names), rows=rows),),
        ),
    )


def shares(record: OverlapRecord) -> frozenset[str]:
    """Statistics over pairs of classes, and a column for every class."""
    return frozenset({"mean", "smallest", "largest", *record.shown})


STORY = Story(shows=SHOWS, finding=finding, draw=draw, shares=shares)
