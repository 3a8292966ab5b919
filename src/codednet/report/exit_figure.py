"""The figure of an exit rule: accuracy against multiply-adds at every threshold, and against milliseconds."""

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from codednet.experiments.exits import ExitsRecord
from codednet.experiments.timing import ExitTime
from codednet.report.style import BLUE, INK, ORANGE, SERIES, house_style, legend_below, percent_axis

WIDTH, HEIGHT = 7.2, 3.4


def save_exits(record: ExitsRecord, path: Path) -> None:
    """Draw the rule into a file, whose ending says the format."""
    with house_style():
        draw_exits(record).savefig(path, facecolor="white", dpi=150)


def draw_exits(record: ExitsRecord) -> Figure:
    """One panel, and a second with milliseconds where times were taken."""
    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    panels = figure.subplots(1, 2 if record.times else 1, sharey=True, squeeze=False)[0]
    _draw_arithmetic(panels[0], record)
    if record.times:
        _draw_times(panels[1], record)
    for axes in panels:
        percent_axis(axes.yaxis)
    legend_below(panels[0])
    return figure


def _draw_arithmetic(axes: Axes, record: ExitsRecord) -> None:
    points = sorted(record.curve[1:], key=lambda point: point.cost)
    costs = [point.cost for point in points]
    axes.plot(costs, [point.accuracy for point in points], color=BLUE, marker=".", label="thresholds")
    axes.plot([1.0], [record.accuracy], color=INK, marker="s", linestyle="none", label="whole network")
    if record.choice.threshold is not None:
        said = f"this rule: threshold {record.choice.threshold:.4g}"
        axes.plot([record.chosen.cost], [record.chosen.accuracy], "*", color=ORANGE, markersize=11, label=said)
    million = record.multiply_adds / 1e6
    axes.set(
        title="Accuracy against multiply-adds",
        xlabel=f"multiply-adds, of the whole network's {million:,.1f} M",
        ylabel=f"accuracy on {record.split}",
    )
    percent_axis(axes.xaxis)


def _draw_times(axes: Axes, record: ExitsRecord) -> None:
    for time, look in zip(record.times, SERIES, strict=False):
        _draw_time(axes, record, time, look["color"])
    axes.set(title="Accuracy against time", xlabel="milliseconds an image (median)")
    most = max(max(time.whole_milliseconds, time.exits_milliseconds) for time in record.times)
    axes.set_xlim(0, 1.25 * most)  # room for what is written at the last point
    axes.xaxis.set_major_locator(MaxNLocator(5))


def _draw_time(axes: Axes, record: ExitsRecord, time: ExitTime, colour: str) -> None:
    """From the whole network to the same with exits."""
    start = time.whole_milliseconds, record.accuracy
    end = time.exits_milliseconds, record.chosen.accuracy
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": colour, "shrinkA": 4, "shrinkB": 5})
    axes.plot(*start, "s", color=INK)
    axes.plot(*end, "*", color=ORANGE, markersize=11)
    images = f"{time.batch} image{'s' if time.batch > 1 else ''}\nat a time:"
    said = f"{images}\n{time.speedup:.2f}x as fast" if time.steady else f"{images}\nunsteady"
    below = (start[0] + end[0]) / 2, min(start[1], end[1])
    style: dict[str, Any] = {"ha": "center", "va": "top", "color": colour, "fontsize": 8}
    axes.annotate(said, below, (0, -12), textcoords="offset points", **style)
