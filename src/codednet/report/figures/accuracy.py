"""Accuracy against the plain twin."""

from codednet.experiments.accuracy import AccuracyRecord
from codednet.experiments.experiment import Table
from codednet.report.drawing import Drawing, Fact, Panel
from codednet.report.figures import Story
from codednet.report.shapes import Names, Series, intervals
from codednet.report.style import BLUE
from codednet.report.wording import write_number

SHOWS = (
    "How often the network names the class, beside its plain twin: the same network without codes, trained by the same "
    "recipe. Both see the same test images, so that what chance could have done is small and can be said."
)


def finding(record: AccuracyRecord) -> str:
    """Accuracy with its interval, and the difference from the twin."""
    own = record.accuracy
    said = (
        f"This run is right on {write_number(own.mean, 'percent')} of {record.images:,} {record.split} images "
        f"({record.level:.0%} interval {write_number(own.low, 'percent')} to {write_number(own.high, 'percent')})"
    )
    if record.twin is None:
        return f"{said}. No plain twin was given to compare it with (--baseline)."
    gap = record.twin.difference
    verdict = {"better": "it is better", "worse": "it is worse", "undecided": "which one is better is undecided"}
    return (
        f"{said}, its plain twin on {write_number(record.twin.accuracy.mean, 'percent')}: "
        f"{write_number(gap.mean, 'points')} ({write_number(gap.low, 'points')} to "
        f"{write_number(gap.high, 'points')}), so {verdict[gap.verdict]} (McNemar's exact test: p = "
        f"{record.twin.p_value:.2g})."
    )


def draw(record: AccuracyRecord) -> tuple[Drawing, ...]:
    """Both accuracies with their intervals."""
    rows = [("this run", record.accuracy)] + ([] if record.twin is None else [("plain twin", record.twin.accuracy)])
    figure = intervals(
        [name for name, _ in rows],
        Series(
            name="accuracy",
            values=[one.mean for _, one in rows],
            low=[one.low for _, one in rows],
            high=[one.high for _, one in rows],
            look={"color": BLUE},
        ),
        Names(title="Accuracy", x="accuracy", y="", percent_x=True, percent_y=False),
    )
    return (
        Drawing(
            name="twin",
            title="Accuracy with its interval" if record.twin is None else "Accuracy of the run and of its plain twin",
            caption=f"Lines: {record.level:.0%} bootstrap intervals, each for itself. The interval of the difference, "
            "in the text above, is narrower, since both networks see the same images.",
            panels=(Panel(figure=figure, title="Accuracy with its interval", text=finding(record)),),
            data=(
                Table(
                    name="",
                    title="Accuracy",
                    columns=("network", "accuracy", "low", "high"),
                    rows=tuple((name, one.mean, one.low, one.high) for name, one in rows),
                ),
            ),
        ),
    )


def facts(record: AccuracyRecord) -> tuple[Fact, ...]:
    """Accuracy, and the difference from the twin."""
    own = Fact(label="accuracy", pointer="/record/accuracy/mean", note=f"{record.images:,} {record.split} images")
    if record.twin is None:
        return (own,)
    gap = record.twin.difference
    note = f"{write_number(gap.low, 'points')} to {write_number(gap.high, 'points')}: {gap.verdict}"
    return own, Fact(label="against the plain twin", pointer="/record/twin/difference/mean", form="points", note=note)


STORY = Story(shows=SHOWS, finding=finding, draw=draw, facts=facts, shares=lambda _record: frozenset({"low", "high"}))
