"""Ablations: accuracy, detectors and early decoders against what was varied."""

from collections.abc import Mapping, Sequence
from math import sqrt

from codednet.experiments.ablations import AblationsRecord, Range, Setting
from codednet.experiments.experiment import Cell, Table
from codednet.experiments.settings import SEED
from codednet.report.drawing import Drawing, Panel
from codednet.report.figures import Story
from codednet.report.shapes import Names, Series, intervals, lines
from codednet.report.style import BLUE, INK, SERIES
from codednet.report.sweep_axes import CODE_SEED, QUALITY, Axis, Line, axes_of, label_of
from codednet.report.wording import block_tick, capped, write_number

SHOWS = (
    "Trainings that differ in one thing, such as the weight mu of the coding loss, the probability of dropping a "
    "branch, the exponent of the coding loss, the order of rates, or the code itself. The paper finds that a small "
    "weight leaves early decoders guessing and a large one costs accuracy, that the networks of one class need "
    "branches to be dropped in training, and that all codes that meet its rules serve alike. Runs that differ in the "
    "seed alone are repeats: their mean is shown, and their range."
)
LOOKS = (*SERIES, {"color": INK, "marker": "P", "linestyle": (0, (5, 1))})
MOST_LINES = len(LOOKS)
MOST_ROWS = 20
ERRORS = 2
"""Standard errors that a difference of two accuracies must exceed."""


def finding(record: AblationsRecord) -> str:
    """The best and the worst setting, what codes that break the rules cost, and what is not known."""
    said = [_extremes(record), *_codes(record)]
    if len(record.settings) > 1:
        if all(len(one.runs) == 1 for one in record.settings):
            said.append("Every setting was trained once: what another seed would have given is not known.")
        points = f"{_chance(record) * 100:.1f} points"
        said.append(f"On {record.images:,} test images, accuracies less than {points} apart may be so by chance.")
    if record.unfinished:
        said.append(f"Left out, since they have not come to their end: {', '.join(record.unfinished)}.")
    return " ".join(said)


def _extremes(record: AblationsRecord) -> str:
    settings = record.settings
    if len(settings) == 1:
        runs = (
            "1 training" if len(record.runs) == 1 else f"{len(record.runs)} trainings, which differ in the seed alone"
        )
        also = "" if settings[0].f1 is None else f", mean F1 of the detectors {_spread(settings[0].f1)}"
        return f"{runs}: accuracy {_spread(settings[0].accuracy)}{also}."
    said = f"Of {len(settings)} settings, accuracy {_ends({label_of(one.settings): one.accuracy for one in settings})}."
    f1 = {label_of(one.settings): one.f1 for one in settings if one.f1 is not None}
    return f"{said} Mean F1 of the detectors {_ends(f1)}." if len(f1) > 1 else said


def _ends(values: Mapping[str, Range]) -> str:
    """Where the largest and the smallest value is."""
    high, low = max(values, key=lambda name: values[name].mean), min(values, key=lambda name: values[name].mean)
    if values[high].mean == values[low].mean:
        return f"is {_percent(values[high].mean)} in all"
    return f"is highest at {high} ({_percent(values[high].mean)}) and lowest at {low} ({_percent(values[low].mean)})"


def _codes(record: AblationsRecord) -> list[str]:
    """Accuracy with codes that meet the rules, and with others, where the code alone was varied."""
    if not set(record.fields) <= {SEED, CODE_SEED, QUALITY}:
        return []
    good, poor = ([one.accuracy for one in record.settings if one.meets_rules is kind] for kind in (True, False))
    if not good or not poor:
        return []
    return [f"With codes that meet the rules accuracy is {_over(good)}, with others {_over(poor)}."]


def _over(ranges: Sequence[Range]) -> str:
    low, high = (_percent(end) for end in (min(one.mean for one in ranges), max(one.mean for one in ranges)))
    return low if low == high else f"{low} to {high}"


def _chance(record: AblationsRecord) -> float:
    """Standard errors of the difference of two accuracies such as these, each on the same number of images."""
    mean = sum(one.accuracy for one in record.runs) / len(record.runs)
    # One right and one wrong answer more, so that accuracies of 0 and 1 have an error too.
    share = (mean * record.images + 1) / (record.images + 2)
    return ERRORS * sqrt(2 * share * (1 - share) / record.images)


def draw(record: AblationsRecord) -> tuple[Drawing, ...]:
    """A figure for each field that was varied by itself; one of all settings where none was."""
    return tuple(_drawing(record, axis) for axis in axes_of(record.fields, record.settings))


def _drawing(record: AblationsRecord, axis: Axis) -> Drawing:
    settings = axis.settings
    shown = axis.lines[:MOST_LINES] if axis.numeric else (Line(name="", settings=tuple(settings[:MOST_ROWS])),)
    panels = [_against(record, axis, shown, "accuracy", {one.runs: one.accuracy for one in settings})]
    if any(one.f1 is not None for one in settings):
        f1 = {one.runs: one.f1 for one in settings if one.f1 is not None}
        panels.append(_against(record, axis, shown, "mean F1 of the detectors", f1))
    alike = f"Alike in all: {label_of(axis.alike)}. " if axis.alike else ""
    caption = f"{_cap(axis, shown, settings)}{alike}"
    longest = max(axis.lines, key=lambda line: len(line.settings))
    decoded = [one for one in longest.settings if one.decoders is not None]
    if decoded:
        drawn = _spaced(decoded, MOST_LINES)
        others = f" where {longest.name}" if len(axis.lines) > 1 else ""
        caption += f"Early decoders{others}: one line a setting. {capped(len(drawn), len(decoded), 'settings in them')}"
        panels.append(_by_depth(record, axis, drawn))
    return Drawing(
        name=axis.name,
        title=f"By {axis.title}",
        caption=f"{caption}{_repeated(settings)}",
        panels=tuple(panels),
        data=_data(settings),
    )


def _against(
    record: AblationsRecord, axis: Axis, shown: Sequence[Line], what: str, values: Mapping[tuple[str, ...], Range]
) -> Panel:
    drawn = [(line, [one for one in line.settings if one.runs in values]) for line in shown]
    if axis.numeric:
        series = [
            _series(line.name or what, [values[one.runs] for one in found], look, [axis.place(one) for one in found])
            for (line, found), look in zip(drawn, LOOKS, strict=False)
        ]
        plain = _plain(record, axis) if what == "accuracy" else {}
        names = Names(title=_capital(what), x=axis.title, y=what)
        figure = lines(sorted({at for one in series for at in one.x or ()}), series, names, references=plain)
    else:
        found = drawn[0][1]
        names = Names(title=_capital(what), x=what, y="", percent_x=True, percent_y=False)
        labels = [axis.label(one) for one in found]
        figure = intervals(labels, _series(what, [values[one.runs] for one in found], {"color": BLUE}), names)
    said = "; ".join(f"{axis.label(one)}: {_spread(values[one.runs])}" for _, found in drawn for one in found)
    return Panel(figure=figure, title=f"{_capital(what)} by {axis.title}", text=f"{_capital(what)}. {said}.")


def _series(name: str, ranges: Sequence[Range], look: Mapping[str, object], x: Sequence[float] | None = None) -> Series:
    wide = any(one.low < one.high for one in ranges)
    return Series(
        name=name,
        values=[one.mean for one in ranges],
        look=look,
        low=[one.low for one in ranges] if wide else None,
        high=[one.high for one in ranges] if wide else None,
        x=x,
    )


def _plain(record: AblationsRecord, axis: Axis) -> dict[str, float]:
    """Accuracy of the plain runs, which have no place on the axis."""
    found = [one for one in record.settings if one.settings.get("model.coded") == "false"]
    return {"plain": found[0].accuracy.mean} if len(found) == 1 and axis.field != "model.coded" else {}


def _by_depth(record: AblationsRecord, axis: Axis, settings: Sequence[Setting]) -> Panel:
    found = {axis.label(one): one.decoders or {} for one in settings}
    series = [
        Series(
            name=label,
            values=[decoders[block].mean if block in decoders else None for block in record.blocks],
            look=look,
        )
        for (label, decoders), look in zip(found.items(), LOOKS, strict=False)
    ]
    names = Names(title="Early decoders", x="coded block (stage.block)", y="accuracy")
    last = "; ".join(
        f"{label}: {_percent(decoders[block].mean)} after {block}"
        for label, decoders in found.items()
        for block in list(decoders)[-1:]
    )
    return Panel(
        figure=lines([block_tick(block) for block in record.blocks], series, names),
        title=f"Early decoders by depth and by {axis.title}",
        text=f"The last early decoder of each. {last}.",
    )


def _cap(axis: Axis, shown: Sequence[Line], settings: Sequence[Setting]) -> str:
    if axis.numeric:
        return capped(len(shown), len(axis.lines), "lines")
    return capped(len(shown[0].settings), len(settings), "settings")


def _repeated(settings: Sequence[Setting]) -> str:
    most = max(len(one.runs) for one in settings)
    return f"Means over up to {most} runs, and their range." if most > 1 else ""


def _spaced(settings: Sequence[Setting], count: int) -> list[Setting]:
    """At most so many, evenly spread, the first and the last among them."""
    if len(settings) <= count:
        return list(settings)
    return [settings[round(at * (len(settings) - 1) / (count - 1))] for at in range(count)]


def _data(settings: Sequence[Setting]) -> tuple[Table, ...]:
    names = tuple(settings[0].settings)
    measures = ("accuracy", "least accuracy", "most accuracy", "F1", "least F1", "most F1")
    rows = [(*one.settings.values(), len(one.runs), *_cells(one.accuracy), *_cells(one.f1)) for one in settings]
    found = Table(name="settings", title="Settings", columns=(*names, "runs", *measures), rows=tuple(rows))
    blocks = tuple(
        (*one.settings.values(), block, *_cells(share))
        for one in settings
        for block, share in (one.decoders or {}).items()
    )
    columns = (*names, "block", *measures[:3])
    decoders = Table(name="decoders", title="Early decoders", columns=columns, rows=blocks)
    return (found, decoders) if blocks else (found,)


def _cells(values: Range | None) -> tuple[Cell, ...]:
    return (None,) * 3 if values is None else (values.mean, values.low, values.high)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _spread(values: Range) -> str:
    if values.low == values.high:
        return _percent(values.mean)
    return f"{_percent(values.mean)} ({_percent(values.low)} to {_percent(values.high)})"


def _percent(value: float) -> str:
    return write_number(value, "percent")


STORY = Story(shows=SHOWS, finding=finding, draw=draw)
