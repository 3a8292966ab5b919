"""Numbers as readers want them."""

from collections.abc import Collection, Sequence
from typing import Any

from codednet.report.drawing import Form

# Words in a column's name by which shares are known, which are written in per cent.
_SHARES = (
    "accuracy", "share", "precision", "recall", "f1", "ap", "ece", "mce", "confidence", "auroc", "fpr95", "cost",
    "risk",
)  # fmt: skip


MOST_SHARE = 1.5


def write_number(value: Any, form: Form = "number") -> str:
    """A number, or text, as a cell or a sentence shows it; an em dash for none."""
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    if form == "percent":
        return f"{value * 100:.2f}%" if 0 < abs(value) < 0.1 else f"{value * 100:.1f}%"
    if form == "points":
        return f"{value * 100:+.1f} points"
    if form == "times":
        return f"{value:.2f} x"
    if form == "seconds":
        return write_seconds(value)
    return write_plain(value)


def write_plain(value: int | float) -> str:
    """A number in four figures, thousands apart."""
    if isinstance(value, int) or (value == int(value) and abs(value) < 1e15):
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}" if abs(value) >= 1e-3 else f"{value:.2e}"


def capped(shown: int, all_of_them: int, what: str) -> str:
    """Says that not all are drawn, where they are not; ends in a space."""
    return f"Shown are {shown} of {all_of_them} {what}; the data holds all. " if shown < all_of_them else ""


def block_tick(name: str) -> str:
    """A block's name as short as an axis needs it: stage.block."""
    return name.removeprefix("layer")


def write_seconds(value: float) -> str:
    """A time in the unit that fits it."""
    if value < 1e-3:
        return f"{value * 1e6:.0f} µs"
    if value < 1:
        return f"{value * 1e3:.1f} ms" if value < 0.1 else f"{value:.2f} s"
    return f"{value:.1f} s" if value < 120 else f"{value / 60:.1f} min"


def form_of(column: str, values: Sequence[Any], shares: Collection[str] = ()) -> Form:
    """How to write a column of a table: in per cent if its name says that it holds shares, and no value is far above 1.

    `shares` are names beside those that say so.
    """
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    words = column.lower().replace("_", " ")
    named = column in shares or any(word in words.split() if len(word) <= 4 else word in words for word in _SHARES)
    # A cost may be a little above the whole network's: looking is not free.
    within = all(-1 <= value <= MOST_SHARE for value in numbers) and any(isinstance(value, float) for value in numbers)
    return "percent" if named and within else "number"
