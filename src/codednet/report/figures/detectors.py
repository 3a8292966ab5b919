"""Detectors: precision and recall of every class's, beside what they are compared with."""

from codednet.experiments.detectors import EXTRACTED, IN_DISTRIBUTION, TITLES, WHOLE, Detectors
from codednet.experiments.experiment import Table
from codednet.paths.families import Family
from codednet.paths.thresholds import Quality
from codednet.report.drawing import Drawing, Fact, Panel
from codednet.report.figures import Story
from codednet.report.shapes import MOST_POINTS, Names, Series, bars, points
from codednet.report.style import BLUE, SERIES
from codednet.report.wording import capped, write_number

SHOWS = (
    "The network of each class, cut out and not trained, with a threshold is a detector of that class. Thresholds come "
    "from images that are not measured on. Beside it, on the same images: the whole network's own logits and, with a "
    "baseline, the plain twin's logits and what is cut out of the twin along the same words, which should be of little "
    "use."
)
MOST_SETS = len(SERIES) - 1
MOST_BARS = 20


def finding(record: Detectors) -> str:
    """Means of every family."""
    said = "; ".join(f"{TITLES[name]} {_quality(family.in_distribution)}" for name, family in record.families.items())
    outside = "".join(
        f" Against {name}: precision {write_number(quality.precision, 'percent')}."
        for name, quality in record.families[EXTRACTED].out_of_distribution.items()
    )
    return f"Mean over the classes, on {record.images['test']:,} test images: {said}.{outside}"


def draw(record: Detectors) -> tuple[Drawing, ...]:
    """Precision against recall of every detector, a panel a family; and F1 of the hardest classes."""
    return _clouds(record), _hardest(record)


def _clouds(record: Detectors) -> Drawing:
    panels = []
    for name, family in record.families.items():
        figure = points(
            [_cloud(family, kind, number) for number, kind in enumerate(_kinds(family))],
            Names(title=TITLES[name], x="recall", y="precision", percent_x=True),
        )
        text = f"{TITLES[name]}: mean {_quality(family.in_distribution)}."
        panels.append(Panel(figure=figure, title=f"Precision and recall, {TITLES[name]}", text=text))
    count = len(record.families[EXTRACTED].detectors)
    rows = tuple(
        (TITLES[name], one.label, kind, quality.precision, quality.recall)
        for name, family in record.families.items()
        for one in family.detectors
        for kind, quality in ((IN_DISTRIBUTION, one.in_distribution), *one.out_of_distribution.items())
    )
    return Drawing(
        name="clouds",
        title="Precision and recall of every detector",
        caption=f"{capped(min(count, MOST_POINTS), count, 'classes')}A point a class. The recall does not depend on "
        "what the positives are told from, the precision does.",
        panels=tuple(panels),
        data=(
            Table(
                name="",
                title="Precision and recall",
                columns=("detectors", "class", "against images of", "precision", "recall"),
                rows=rows,
            ),
        ),
    )


def _kinds(family: Family) -> list[str]:
    return [IN_DISTRIBUTION, *list(family.out_of_distribution)[:MOST_SETS]]


def _cloud(family: Family, kind: str, number: int) -> Series:
    def quality(one: int) -> Quality:
        detector = family.detectors[one]
        return detector.in_distribution if kind == IN_DISTRIBUTION else detector.out_of_distribution[kind]

    shown = range(min(len(family.detectors), MOST_POINTS))
    return Series(
        name=f"against {kind}",
        values=[quality(one).precision for one in shown],
        x=[quality(one).recall for one in shown],
        look={key: value for key, value in SERIES[number].items() if key != "linestyle"},
    )


def _hardest(record: Detectors) -> Drawing:
    ranked = sorted(record.families[EXTRACTED].detectors, key=lambda one: one.in_distribution.f1)
    whole = {one.label: one.in_distribution.f1 for one in record.families[WHOLE].detectors}
    shown = ranked[:MOST_BARS]
    figure = bars(
        [one.label for one in shown],
        [
            Series(name=TITLES[EXTRACTED], values=[one.in_distribution.f1 for one in shown], look={"color": BLUE}),
            Series(
                name=TITLES[WHOLE],
                values=[whole[one.label] for one in shown],
                look={"color": SERIES[4]["color"], "hatch": "//"},
            ),
        ],
        Names(title="F1 by class", x="F1", y="", percent_x=True, percent_y=False),
    )
    low, high = ranked[0], ranked[-1]
    text = (
        f"Least F1: {low.label} {write_number(low.in_distribution.f1, 'percent')}; largest: {high.label} "
        f"{write_number(high.in_distribution.f1, 'percent')}."
    )
    rows = tuple((one.label, one.in_distribution.f1, whole[one.label]) for one in ranked)
    return Drawing(
        name="hardest",
        title="F1 of the detectors, hardest first",
        caption=f"{capped(len(shown), len(ranked), 'classes, the hardest')}The extracted network of a class beside the "
        "whole network's logit of that class, which has all parameters.",
        panels=(Panel(figure=figure, title="F1 by class", text=text),),
        data=(Table(name="", title="F1", columns=("class", TITLES[EXTRACTED], TITLES[WHOLE]), rows=rows),),
    )


def _quality(quality: Quality) -> str:
    shown = (write_number(value, "percent") for value in (quality.precision, quality.recall, quality.f1))
    return "precision {}, recall {}, F1 {}".format(*shown)


def facts(record: Detectors) -> tuple[Fact, ...]:
    """Mean F1 of the extracted networks."""
    whole = write_number(record.families[WHOLE].in_distribution.f1, "percent")
    return (
        Fact(
            label="mean F1 of the extracted detectors",
            pointer=f"/record/families/{EXTRACTED}/in_distribution/f1",
            note=f"{whole} of the whole network's logits",
        ),
    )


STORY = Story(shows=SHOWS, finding=finding, draw=draw, facts=facts)
