"""The shapes that figures are made of: lines, bars, points and tables of shades, each with its axes named."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from codednet.report.style import (
    BLUE,
    GRID,
    INK,
    MUTED,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    SURFACE,
    legend_below,
    name_ticks,
    new_panel,
    percent_axis,
)

MOST_POINTS = 1000
"""Markers of one kind in a panel."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line, row of bars or cloud of points."""

    name: str
    values: Sequence[float | None]
    look: Mapping[str, Any] = field(default_factory=dict)
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    """Ends of intervals around the values."""
    x: Sequence[float] | None = None
    """Places of its own."""


@dataclass(frozen=True, kw_only=True)
class Names:
    """What is written at a panel."""

    title: str
    x: str
    y: str
    percent_x: bool = False
    percent_y: bool = True


def lines(
    x: Sequence[float | str],
    series: Sequence[Series],
    names: Names,
    *,
    references: Mapping[str, float] | None = None,
    whole: bool = False,
) -> Figure:
    """A line a series; `x` are numbers, or names set evenly. References are level lines; `whole` ticks are integers."""
    figure, axes = new_panel()
    places = [place if isinstance(place, int | float) else at for at, place in enumerate(x)]
    for one in series:
        values = _gaps(one.values)
        at = places[: len(values)] if one.x is None else list(one.x)
        axes.plot(at, values, label=one.name, **one.look)
        if one.low is not None and one.high is not None:
            axes.fill_between(at, one.low, one.high, color=one.look.get("color"), alpha=0.18, linewidth=0)
    for number, (name, value) in enumerate((references or {}).items()):
        axes.axhline(value, color=INK, linewidth=1, linestyle=((0, (4, 2)), (0, (1, 2)))[number % 2], label=name)
    if x and isinstance(x[0], str):
        name_ticks(axes.xaxis, places, [str(name) for name in x], rotation=0 if len(x) <= 10 else 90)
    elif whole:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    finish(axes, names, legend=len(series) + len(references or {}) > 1)
    return figure


def bars(
    labels: Sequence[str],
    series: Sequence[Series],
    names: Names,
    *,
    references: Mapping[str, float] | None = None,
    colours: Sequence[str] | None = None,
    hatches: Sequence[str] | None = None,
) -> Figure:
    """Level bars from the top down, a group a label, with the ends of their intervals; as high as the labels need."""
    figure, axes = new_panel(PANEL_WIDTH, max(PANEL_HEIGHT * 0.6, 62 + 15 * len(labels) * max(1, len(series) * 0.7)))
    thick = 0.8 / len(series)
    for number, one in enumerate(series):
        places = [at + (number - (len(series) - 1) / 2) * thick for at in range(len(labels))]
        values = [0.0 if value is None else value for value in one.values]
        look = {key: value for key, value in one.look.items() if key in ("color", "alpha", "hatch")}
        look |= {"edgecolor": SURFACE} if "hatch" in look else {}
        drawn = axes.barh(places, values, height=thick * 0.9, label=one.name, **look)
        for at, bar in enumerate(drawn):
            if colours is not None:
                bar.set_facecolor(colours[at])
            if hatches is not None and hatches[at]:
                bar.set(hatch=hatches[at], edgecolor=SURFACE)
        if one.low is not None and one.high is not None:
            axes.hlines(places, one.low, one.high, color=INK, linewidth=1)
    for name, value in (references or {}).items():
        axes.axvline(value, color=INK, linewidth=1, linestyle="--", label=name)
    name_ticks(axes.yaxis, range(len(labels)), labels, letters=22)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    finish(axes, names, legend=len(series) + len(references or {}) > 1)
    return figure


def intervals(labels: Sequence[str], series: Series, names: Names) -> Figure:
    """A point a label with the line of its interval, from the top down; the axis starts where the numbers do."""
    figure, axes = new_panel(PANEL_WIDTH, max(90.0, 62 + 18 * len(labels)))
    places = list(range(len(labels)))
    if series.low is not None and series.high is not None:
        axes.hlines(places, series.low, series.high, color=MUTED, linewidth=1.5)
    axes.plot(_gaps(series.values), places, linestyle="none", marker="o", **series.look)
    name_ticks(axes.yaxis, places, labels, letters=22)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.margins(x=0.08)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.tick_params(axis="y", length=0)
    finish(axes, names, legend=False)
    return figure


def points(series: Sequence[Series], names: Names) -> Figure:
    """Clouds of points in the unit square, the axes as long as the points need."""
    figure, axes = new_panel()
    for one in series:
        look = {"markersize": 4.5, "markeredgewidth": 0, "alpha": 0.75, **one.look}
        axes.plot(list(one.x or ()), _gaps(one.values), linestyle="none", label=one.name, **look)
    axes.margins(0.06)
    finish(axes, names, legend=len(series) > 1)
    return figure


def steps(
    edges: Sequence[float], series: Sequence[Series], names: Names, *, mark: float | None = None, log: bool = False
) -> Figure:
    """Histograms over the same bins, each as a share of its own images; `mark` is an upright line."""
    figure, axes = new_panel(PANEL_WIDTH, 180)
    for one in series:
        total = sum(value or 0 for value in one.values) or 1
        shares = [(value or 0) / total for value in one.values]
        look = {"color": one.look["color"], "linestyle": one.look.get("linestyle", "-"), "linewidth": 1.4}
        axes.stairs(shares, edges, label=one.name, baseline=None if log else 0, **look)
        if not log:
            axes.stairs(shares, edges, fill=True, color=look["color"], alpha=0.15)
    if mark is not None:
        axes.axvline(mark, color=INK, linewidth=1, linestyle=(0, (1, 1.5)), label="threshold")
    if log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _place: power_of_ten(value))
    finish(axes, names, legend=True)
    return figure


def shades(
    values: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str], names: Names, *, numbers: bool
) -> Figure:
    """A table of cells, the darker the larger, from 0 to 1; with the numbers in them where they fit."""
    side = min(24.0, 230 / max(len(columns), 1))
    figure, axes = new_panel(PANEL_WIDTH, max(110.0, 75 + side * len(rows)))
    colours = [[(*to_rgba(BLUE)[:3], max(0.0, min(1.0, value))) for value in row] for row in values]
    grid = axes.pcolormesh(
        range(len(columns) + 1),
        range(len(rows) + 1),
        [list(row) for row in values],
        edgecolors=SURFACE if side > 8 else "none",
        linewidth=0.8,
    )
    grid.set_array(None)
    grid.set_facecolor([cell for row in colours for cell in row])
    if numbers:
        for y, row in enumerate(values):
            for x, value in enumerate(row):
                colour = SURFACE if value > 0.55 else INK
                axes.text(x + 0.5, y + 0.5, f"{value * 100:.0f}", ha="center", va="center", fontsize=7, color=colour)
    axes.set(xlim=(0, len(columns)), ylim=(len(rows), 0))
    name_ticks(axes.yaxis, [at + 0.5 for at in range(len(rows))], rows)
    turned = 90 if max(map(len, columns), default=0) > 2 else 0
    name_ticks(axes.xaxis, [at + 0.5 for at in range(len(columns))], columns, letters=12, rotation=turned)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.set(title=names.title, xlabel=names.x, ylabel=names.y)
    return figure


def power_of_ten(value: float) -> str:
    """A tick of a logarithmic axis, in letters that need no mathematics: 10⁻².

    >>> power_of_ten(0.01), power_of_ten(1)
    ('10⁻²', '1')
    """
    exponent = round(math.log10(value))
    raised = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if exponent else "1"


def _gaps(values: Sequence[float | None]) -> list[float]:
    """Values, with a gap where there is none."""
    return [math.nan if value is None else value for value in values]


def finish(axes: Axes, names: Names, *, legend: bool) -> None:
    """Names of title and axes, ticks in per cent, the legend below."""
    axes.set(title=names.title, xlabel=names.x, ylabel=names.y)
    for axis, percent in ((axes.yaxis, names.percent_y), (axes.xaxis, names.percent_x)):
        if percent:
            percent_axis(axis)
        elif isinstance(axis.get_major_formatter(), ScalarFormatter):
            axis.set_major_formatter(lambda value, _place: tick(value))
    if legend:
        legend_below(axes, columns=2)


def tick(value: float) -> str:
    """A tick as short as its neighbours leave room for.

    >>> tick(1_500_000), tick(25_000), tick(0.25)
    ('1.5 M', '25,000', '0.25')
    """
    return f"{value / 1e6:.10g} M" if abs(value) >= 1e6 else f"{value:,.10g}"


def frame(axes: Axes) -> None:
    """Thin lines at 0, for panels whose values lie on both sides."""
    axes.axhline(0, color=MUTED, linewidth=0.8)
    axes.tick_params(color=GRID)
