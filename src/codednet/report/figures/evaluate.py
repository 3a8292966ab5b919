"""Accuracy class by class, and what is taken for what."""

from codednet.experiments.evaluate import EvaluateRecord
from codednet.experiments.experiment import Cell, Table
from codednet.report.drawing import Drawing, Panel
from codednet.report.figures import Story
from codednet.report.shapes import Names, Series, bars, shades
from codednet.report.style import BLUE
from codednet.report.wording import capped, write_number

SHOWS = (
    "Which classes are hard, and what they are taken for. A network whose classes travel different paths can be asked "
    "about each class by itself."
)
MOST_BARS, MOST_CELLS = 20, 14


def finding(record: EvaluateRecord) -> str:
    """Hardest and easiest class."""
    ranked = _hardest(record)
    if not ranked:
        return "No class has an image in this split."
    low, high = record.classes[ranked[0]], record.classes[ranked[-1]]
    taken = f", mostly taken for {low.taken_for}" if low.taken_for else ""
    top5 = f" Among the five likeliest: {write_number(record.top5, 'percent')}." if record.top5 is not None else ""
    return (
        f"Hardest is {low.name} with {write_number(low.accuracy, 'percent')}{taken}; easiest {high.name} with "
        f"{write_number(high.accuracy, 'percent')}.{top5}"
    )


def draw(record: EvaluateRecord) -> tuple[Drawing, ...]:
    """The hardest classes, and the confusions among them."""
    ranked = _hardest(record)
    return (_accuracies(record, ranked), _confusions(record, ranked)) if ranked else ()


def _hardest(record: EvaluateRecord) -> list[int]:
    """Classes with images, the least accuracy first."""
    seen = [at for at, one in enumerate(record.classes) if one.accuracy is not None]
    return sorted(seen, key=lambda at: (record.classes[at].accuracy or 0.0, at))


def _accuracies(record: EvaluateRecord, ranked: list[int]) -> Drawing:
    classes = [record.classes[at] for at in ranked[:MOST_BARS]]
    figure = bars(
        [one.name for one in classes],
        [Series(name="accuracy", values=[one.accuracy for one in classes], look={"color": BLUE})],
        Names(title="Accuracy by class", x="accuracy", y="", percent_x=True, percent_y=False),
        references={"all images": record.accuracy},
    )
    rows = tuple((record.classes[at].name, record.classes[at].accuracy) for at in ranked)
    return Drawing(
        name="classes",
        title="Accuracy of the classes, hardest first",
        caption=f"{capped(len(classes), len(ranked), 'classes, the hardest')}The dashed line is the accuracy on all "
        "images.",
        panels=(Panel(figure=figure, title="Accuracy by class", text=finding(record)),),
        data=(Table(name="", title="Accuracy by class", columns=("class", "accuracy"), rows=rows),),
    )


def _confusions(record: EvaluateRecord, ranked: list[int]) -> Drawing:
    chosen = ranked if len(record.classes) <= MOST_CELLS else ranked[:MOST_CELLS]
    chosen = sorted(chosen)
    names = [record.classes[at].name for at in chosen]
    shares = [[record.confusion[row][column] / sum(record.confusion[row]) for column in chosen] for row in chosen]
    figure = shades(shares, names, names, Names(title="Confusions", x="named", y="class"), numbers=True)
    worst = max(
        ((row, column) for row in range(len(chosen)) for column in range(len(chosen)) if row != column),
        key=lambda place: shares[place[0]][place[1]],
        default=(0, 0),
    )
    text = (
        f"Most often {names[worst[0]]} is taken for {names[worst[1]]}: {shares[worst[0]][worst[1]]:.1%} of its images."
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple((name, *row) for name, row in zip(names, shares, strict=True))
    return Drawing(
        name="confusions",
        title="What is taken for what",
        caption=f"{capped(len(chosen), len(record.classes), 'classes, the hardest')}Per cent of the images of a class "
        "(row) that are named as another (column).",
        panels=(Panel(figure=figure, title="Confusions of classes", text=text),),
        data=(Table(name="", title="Confusions", columns=("class", *names), rows=rows),),
    )


STORY = Story(shows=SHOWS, finding=finding, draw=draw)
