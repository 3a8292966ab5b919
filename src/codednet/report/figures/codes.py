"""The codes: words, and how far apart they are."""

from codednet.experiments.codes import CodeRow, CodesRecord
from codednet.experiments.experiment import Cell, Table
from codednet.report.drawing import Drawing, Panel
from codednet.report.figures import Story
from codednet.report.shapes import Names, Series, bars, shades
from codednet.report.style import BLUE, GREY
from codednet.report.wording import capped

SHOWS = (
    "The words of every class: which branches work for it. Words of different classes should differ in many places, "
    "and every branch should serve about as many classes. How far apart words can be at all is bounded, and the bound "
    "is stated."
)
MOST_CODES = 4
MOST_DISTANCES = 16


def finding(record: CodesRecord) -> str:
    """Distance, bound and loads of every code."""
    return " ".join(_said(one) for one in record.codes[:MOST_CODES])


def _said(one: CodeRow) -> str:
    best = (
        "the largest possible" if one.min_distance == one.distance_bound else f"at most {one.distance_bound} possible"
    )
    loads = f"{min(one.loads)}" if one.spread == 0 else f"{min(one.loads)} to {max(one.loads)}"
    return (
        f"{one.active}/{one.branches} from {one.blocks[0]}: {one.classes} words, minimum distance {one.min_distance} "
        f"({best}), each branch serves {loads} classes."
    )


def draw(record: CodesRecord) -> tuple[Drawing, ...]:
    """The words of the first classes, and the distances of all pairs."""
    codes = record.codes[:MOST_CODES]
    if not codes:
        return ()
    few = capped(record.shown, record.classes, "classes, the first")
    return (
        Drawing(
            name="words",
            title="Words",
            caption=f"{few}Filled: the branch works for the class.",
            panels=tuple(_words(one) for one in codes),
            data=tuple(_word_table(one, number) for number, one in enumerate(codes, start=1)),
        ),
        Drawing(
            name="distances",
            title="Distances of all pairs of words",
            caption="Blue: the closest pairs. Words of the same number of ones differ in an even number of places.",
            panels=tuple(_distances(one) for one in codes),
            data=tuple(_distance_table(one, number) for number, one in enumerate(codes, start=1)),
        ),
    )


def _name(one: CodeRow) -> str:
    return f"{one.active}/{one.branches} from {one.blocks[0]}"


def _words(one: CodeRow) -> Panel:
    cells = [[float(letter) for letter in word.word] for word in one.words]
    columns = [str(branch) for branch in range(one.branches)]
    names = Names(title=_name(one), x="branch", y="class")
    figure = shades(cells, [word.label for word in one.words], columns, names, numbers=False)
    return Panel(figure=figure, title=f"Words of the code {_name(one)}", text=_said(one))


def _distances(one: CodeRow) -> Panel:
    counts = sorted(one.distances.items())[:MOST_DISTANCES]
    figure = bars(
        [str(distance) for distance, _ in counts],
        [Series(name="pairs", values=[count for _, count in counts])],
        Names(title=_name(one), x="pairs of classes", y="distance", percent_y=False),
        colours=[BLUE if distance == one.min_distance else GREY for distance, _ in counts],
    )
    said = ", ".join(f"{count:,} at {distance}" for distance, count in counts)
    return Panel(
        figure=figure, title=f"Distances of the code {_name(one)}", text=f"Pairs of words, {_name(one)}: {said}."
    )


def _word_table(one: CodeRow, number: int) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple((word.label, *map(int, word.word)) for word in one.words)
    return Table(
        name=f"{number}", title="Words", columns=("class", *(f"branch {n}" for n in range(one.branches))), rows=rows
    )


def _distance_table(one: CodeRow, number: int) -> Table:
    return Table(
        name=f"{number}", title="Distances", columns=("distance", "pairs"), rows=tuple(sorted(one.distances.items()))
    )


STORY = Story(shows=SHOWS, finding=finding, draw=draw)
