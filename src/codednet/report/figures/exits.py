"""Exits: accuracy against cost, and where images leave."""

from codednet.experiments.exits import ExitsRecord
from codednet.experiments.experiment import Table
from codednet.report.drawing import Drawing, Fact, Panel
from codednet.report.figures import Story
from codednet.report.shapes import Names, Series, bars, lines
from codednet.report.style import ACTIVE, BLUE, ORANGE
from codednet.report.wording import write_number

SHOWS = (
    "Stop after a coded block as soon as the guess is sure enough. The threshold is chosen on images that nothing else "
    "was fitted on, so that a promise can be made: with high probability, at most a chosen share of images is answered "
    "wrongly that the whole network would have answered rightly."
)


def finding(record: ExitsRecord) -> str:
    """The chosen rule and its price."""
    choice = record.choice
    if choice.threshold is None:
        return f"The rule is never to exit: {record.choice.images:,} images of {record.chosen_on} do not allow more."
    return (
        f"Leaving at a posterior of {choice.threshold:.3g} or more takes {write_number(record.chosen.cost, 'percent')} "
        f"of the multiply-adds; accuracy {write_number(record.chosen.accuracy, 'percent')} against "
        f"{write_number(record.accuracy, 'percent')} without exits. Lost by leaving early: "
        f"{write_number(record.chosen.risk, 'percent')} of {record.images:,} {record.split} images."
    )


def draw(record: ExitsRecord) -> tuple[Drawing, ...]:
    """Accuracy against cost at every threshold, and the images that leave at each look."""
    points = sorted({(one.cost, one.accuracy) for one in record.curve})
    curve = lines(
        [cost for cost, _ in points],
        [Series(name="every threshold", values=[accuracy for _, accuracy in points], look=ACTIVE)],
        Names(title="Accuracy against cost", x="multiply-adds, of the whole network's", y="accuracy", percent_x=True),
        references={"without exits": record.accuracy},
    )
    axes = curve.axes[0]
    axes.plot([record.chosen.cost], [record.chosen.accuracy], marker="*", markersize=12, color=ORANGE)
    places = (*record.looks, record.through)
    labels = [*(f"leaves at {one.block}" for one in record.looks), "goes through"]
    shares = bars(
        labels,
        [Series(name="share of images", values=[one.share for one in places], look={"color": BLUE})],
        Names(title="Where images leave", x="share of images", y="", percent_x=True, percent_y=False),
    )
    said = ", ".join(f"{label} {write_number(one.share, 'percent')}" for label, one in zip(labels, places, strict=True))
    return (
        Drawing(
            name="price",
            title="What exits save",
            caption="The star is the rule that is kept; the other points are other thresholds on the same images.",
            panels=(
                Panel(figure=curve, title="Accuracy against multiply-adds", text=finding(record)),
                Panel(figure=shares, title="Share of images by place of exit", text=f"Of the images: {said}."),
            ),
            data=(_curve(record), _places(record, labels)),
        ),
    )


def _curve(record: ExitsRecord) -> Table:
    rows = tuple((one.threshold, one.cost, one.accuracy, one.risk) for one in record.curve)
    return Table(name="curve", title="Thresholds", columns=("threshold", "cost", "accuracy", "risk"), rows=rows)


def _places(record: ExitsRecord, labels: list[str]) -> Table:
    places = (*record.looks, record.through)
    rows = tuple((label, one.share) for label, one in zip(labels, places, strict=True))
    return Table(name="places", title="Where images leave", columns=("place", "share of images"), rows=rows)


def facts(record: ExitsRecord) -> tuple[Fact, ...]:
    """Cost of the rule that is kept."""
    return (
        Fact(
            label="multiply-adds with exits",
            pointer="/record/chosen/cost",
            note=f"accuracy {write_number(record.chosen.accuracy, 'percent')}, "
            f"{write_number(record.accuracy, 'percent')} without",
        ),
    )


STORY = Story(shows=SHOWS, finding=finding, draw=draw, facts=facts)
