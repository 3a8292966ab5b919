"""Guided inference beside exits."""

from codednet.experiments.experiment import Table
from codednet.experiments.guided import GuidedRecord
from codednet.report.drawing import Drawing, Panel
from codednet.report.figures import Story
from codednet.report.shapes import Names, Series, lines
from codednet.report.style import ACTIVE, INACTIVE
from codednet.report.wording import write_number

SHOWS = (
    "Instead of stopping early, go on with fewer branches: the coded blocks before the last stage name the likely "
    "classes, and of the last stage only the branches of their words run. Beside it, exits by the same early guess."
)


def finding(record: GuidedRecord) -> str:
    """The cheapest guided point that loses no more than half a point."""
    good = [one for one in record.guided if one.accuracy >= record.accuracy - 0.005]
    if not good:
        return f"No mass keeps accuracy within half a point of {write_number(record.accuracy, 'percent')}."
    best = min(good, key=lambda one: one.cost)
    return (
        f"With candidates of mass {best.mass:g}, {write_number(best.branches, 'percent')} of the last stage's branches "
        f"run, for {write_number(best.cost, 'percent')} of all multiply-adds: accuracy "
        f"{write_number(best.accuracy, 'percent')}, {write_number(record.accuracy, 'percent')} with all branches "
        f"({record.images:,} {record.split} images)."
    )


def draw(record: GuidedRecord) -> tuple[Drawing, ...]:
    """Accuracy against cost both ways."""
    ways = {
        "guided": sorted({(one.cost, one.accuracy) for one in record.guided}),
        "exits": sorted({(one.cost, one.accuracy) for one in record.exits}),
    }
    looks = {"guided": ACTIVE, "exits": INACTIVE}
    figure = lines(
        [],
        [
            Series(name=name, values=[y for _, y in points], x=[x for x, _ in points], look=looks[name])
            for name, points in ways.items()
        ],
        Names(title="Accuracy against cost", x="multiply-adds, of the whole network's", y="accuracy", percent_x=True),
        references={"whole network": record.accuracy},
    )
    rows = tuple((name, *point) for name, points in ways.items() for point in points)
    return (
        Drawing(
            name="price",
            title="Fewer branches, or fewer blocks",
            caption="Points to the left cost less, points further up are right more often.",
            panels=(Panel(figure=figure, title="Accuracy against cost, guided and with exits", text=finding(record)),),
            data=(Table(name="", title="Points", columns=("way", "cost", "accuracy"), rows=rows),),
        ),
    )


STORY = Story(shows=SHOWS, finding=finding, draw=draw)
