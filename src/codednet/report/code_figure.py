"""The figure of a code: its table of words, the loads of its branches, and the distances of its pairs."""

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from codednet.codes.code import Code

_INK, _FAINT, _ACCENT, _REST = "#1f2933", "#e8ecf1", "#2563a8", "#9db4cc"


def draw_code(code: Code) -> Figure:
    """Three panels: words (a row a class), classes that each branch serves, pairs at each distance with the bound."""
    figure = Figure(figsize=(10, 6), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1, 1.2), height_ratios=(1, 1))
    words, loads, distances = (figure.add_subplot(grid[place]) for place in ((slice(None), 0), (0, 1), (1, 1)))
    figure.suptitle(
        f"{code.num_classes} words of length {code.num_branches}, {code.active} active: "
        f"minimum distance {code.min_distance} (bound {code.distance_bound}), load spread {code.spread}"
    )
    _draw_words(words, code)
    _draw_loads(loads, code)
    _draw_distances(distances, code)
    for axes in (loads, distances):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_words(axes, code: Code) -> None:  # type: ignore[no-untyped-def]
    axes.imshow(code.words, cmap=ListedColormap([_FAINT, _ACCENT]), vmin=0, vmax=1, aspect="auto", interpolation="none")
    axes.set(title="words (dark: the branch works for the class)", xlabel="branch", ylabel="class")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    if code.num_classes <= 40:  # lines between words only where they can be told apart
        axes.set_yticks(np.arange(code.num_classes + 1) - 0.5, minor=True)
        axes.set_xticks(np.arange(code.num_branches + 1) - 0.5, minor=True)
        axes.grid(which="minor", color="white", linewidth=1)
        axes.tick_params(which="minor", length=0)


def _draw_loads(axes, code: Code) -> None:  # type: ignore[no-untyped-def]
    axes.bar(np.arange(code.num_branches), code.loads, color=_REST)
    mean = code.loads.mean()
    axes.axhline(mean, color=_INK, linewidth=1)
    axes.annotate(f"mean {mean:g}", (1, mean), xycoords=("axes fraction", "data"), ha="right", va="bottom", color=_INK)
    axes.set(title="classes that each branch serves", xlabel="branch", ylabel="classes")
    axes.margins(y=0.15)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def _draw_distances(axes, code: Code) -> None:  # type: ignore[no-untyped-def]
    counts = code.distance_counts
    colors = [_ACCENT if distance == code.min_distance else _REST for distance in counts]
    axes.bar(list(counts), list(counts.values()), width=1.5, color=colors)
    axes.axvline(code.distance_bound, color=_INK, linestyle="--", linewidth=1)
    axes.annotate(
        f"largest possible minimum: {code.distance_bound}",
        (code.distance_bound, 1),
        xycoords=("data", "axes fraction"),
        xytext=(4, -4),
        textcoords="offset points",
        va="top",
        color=_INK,
    )
    axes.set(title="pairs of words at each distance (closest dark)", xlabel="Hamming distance", ylabel="pairs")
    axes.set_xticks(sorted({*counts, code.distance_bound}) or [code.distance_bound])
    axes.margins(y=0.2)
