"""The house style of figures: one palette that reads in light and dark, and sizes that read on a phone.

Figures are drawn in the light colours. `svg.to_svg` replaces each by a CSS variable of the same name, which pages set
for light and dark; a figure without a page keeps the light ones.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure


@dataclass(frozen=True)
class Colour:
    """One colour of the house, in light and in dark."""

    light: str
    dark: str


# Told apart with red-green and with blue-yellow blindness; each at least 3:1 against its page, text at least 4.5:1.
COLOURS = {
    "ink": Colour("#1b2431", "#e7ecf3"),
    "muted": Colour("#566273", "#a3afbf"),
    "grid": Colour("#d8dee7", "#38444f"),
    "surface": Colour("#fffffe", "#11161d"),
    "blue": Colour("#0b62a8", "#62b4f5"),
    "orange": Colour("#bf5700", "#f2a65a"),
    "green": Colour("#00775a", "#45cba0"),
    "purple": Colour("#8f4399", "#d9a0e0"),
    "grey": Colour("#6d7886", "#8d99a8"),
}

INK, MUTED, GRID, SURFACE, BLUE, ORANGE, GREEN, PURPLE, GREY = (colour.light for colour in COLOURS.values())

# What a series is, the same in every figure. Shape and dash say it too, so that colour is never alone.
ACTIVE: dict[str, Any] = {"color": BLUE, "marker": "o"}
INACTIVE: dict[str, Any] = {"color": ORANGE, "marker": "s", "linestyle": "--"}
SERIES: tuple[dict[str, Any], ...] = (
    {"color": BLUE, "marker": "o"},
    {"color": ORANGE, "marker": "s", "linestyle": "--"},
    {"color": GREEN, "marker": "^", "linestyle": "-."},
    {"color": PURPLE, "marker": "D", "linestyle": ":"},
    {"color": GREY, "marker": "v"},
)

PANEL_WIDTH, PANEL_HEIGHT = 320, 220
"""Points. Narrow, so that text keeps its size on a phone; figures of more are several panels, which wrap."""

_SETTINGS = {
    "font.family": "DejaVu Sans",  # wider than the fonts of browsers, so that what fits here fits there
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "text.color": INK,
    "text.parse_math": False,  # names of classes may hold a dollar sign
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "axes.linewidth": 0.8,
    "lines.linewidth": 1.6,
    "lines.markersize": 4,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "svg.fonttype": "none",
    "figure.dpi": 72,
}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw, and save, in the house style."""
    with matplotlib.rc_context(cast(Any, _SETTINGS)), warnings.catch_warnings():
        # Browsers have the letters that the font of the measurements lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def new_panel(width: float = PANEL_WIDTH, height: float = PANEL_HEIGHT) -> tuple[Figure, Axes]:
    """An empty panel of this size in points."""
    figure = Figure(figsize=(width / 72, height / 72), layout="constrained")
    return figure, figure.add_subplot()


def shorten(name: str, letters: int = 14) -> str:
    """The name, or as much of it as fits a figure."""
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def percent_axis(axis: Any) -> None:
    """Ticks in per cent on an axis of shares."""
    axis.set_major_formatter(lambda value, _place: f"{value * 100:.4g}%")


def name_ticks(axis: Any, places: Sequence[float], names: Sequence[str], letters: int = 14, **options: Any) -> None:
    """Ticks at the places, with names that are shortened where they must be."""
    axis.set_ticks(places, [shorten(name, letters) for name in names], **options)


def legend_below(axes: Axes, columns: int = 3, labels: int = 30) -> None:
    """The legend below the axes, where no data can be under it."""
    handles, names = axes.get_legend_handles_labels()
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.legend(
        handles,
        [shorten(name, labels) for name in names],
        loc="outside lower left",
        ncols=columns,
        borderaxespad=0.2,
        handlelength=2.4,
        columnspacing=1.2,
    )
