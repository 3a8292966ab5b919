"""Confidence calibration: reliability, and the paper's protocol."""

from matplotlib.figure import Figure

from codednet.decoding.calibration import MeasuredConfidence
from codednet.decoding.protocol import ProtocolRecord
from codednet.experiments.calibration import CalibrationRecord
from codednet.experiments.experiment import Table
from codednet.report.drawing import Drawing, Fact, Panel
from codednet.report.figures import Story
from codednet.report.shapes import Names, Series, intervals, lines
from codednet.report.style import BLUE, GREY, INK
from codednet.report.wording import write_number

SHOWS = (
    "Does a confidence mean what it says? Of images at 80 % confidence, 80 % should be right. Softmax as it is is "
    "compared with one temperature for all (h_T), with a temperature that also knows which early decoders agree "
    "(h_aug), and with the plain table of accuracies by agreement."
)


def finding(record: CalibrationRecord) -> str:
    """Errors before and after."""
    if record.fitted is None:
        return record.why_not_fitted
    said = "; ".join(
        f"{one.method}: ECE {write_number(one.ece, 'percent')}, MCE {write_number(one.mce, 'percent')}"
        for one in record.fitted.methods
    )
    best = min(record.fitted.methods, key=lambda one: one.ece)
    return f"On {record.images:,} {record.split} images, {said}. The least ECE is that of {best.method}."


def draw(record: CalibrationRecord) -> tuple[Drawing, ...]:
    """Reliability diagrams, and the protocol's errors."""
    drawings = []
    if record.fitted is not None:
        drawings.append(
            Drawing(
                name="reliability",
                title="Accuracy beside confidence",
                caption=f"Each point is one of {record.bins} bins of confidence, larger where it holds more images; on "
                "the thin line a confidence means what it says, below it, it is too sure.",
                panels=tuple(_reliability(one) for one in record.fitted.methods),
                data=(_bins(record.fitted.methods),),
            )
        )
    if record.protocol is not None:
        drawings.append(_protocol(record.protocol))
    return tuple(drawings)


def _reliability(one: MeasuredConfidence) -> Panel:
    bars = [bar for bar in one.reliability if bar.accuracy is not None and bar.confidence is not None]
    figure = lines(
        [0.0, 1.0],
        [Series(name="right", values=[0.0, 1.0], look={"color": GREY, "linewidth": 0.8})],
        Names(title=one.method, x="confidence", y="accuracy", percent_x=True),
    )
    axes = figure.axes[0]
    most = max((bar.images for bar in bars), default=1)
    x, y = [bar.confidence or 0.0 for bar in bars], [bar.accuracy or 0.0 for bar in bars]
    axes.plot(x, y, color=BLUE, linewidth=1)
    axes.scatter(
        x, y, s=[8 + 70 * bar.images / most for bar in bars], color=BLUE, edgecolor=INK, linewidth=0.4, zorder=3
    )
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    text = f"{one.method}: ECE {write_number(one.ece, 'percent')}, MCE {write_number(one.mce, 'percent')}."
    return Panel(figure=figure, title=f"Reliability of {one.method}", text=text)


def _bins(methods: tuple[MeasuredConfidence, ...]) -> Table:
    rows = tuple((one.method, bar.images, bar.confidence, bar.accuracy) for one in methods for bar in one.reliability)
    return Table(name="", title="Bins", columns=("method", "images", "confidence", "accuracy"), rows=rows)


def _protocol(protocol: ProtocolRecord) -> Drawing:
    panels = []
    for name in ("ece", "mce"):
        figure, text = _errors(protocol, name)
        panels.append(Panel(figure=figure, title=f"{name.upper()} over the splits", text=text))
    rows = tuple(
        (share.share, one.method, one.ece.mean, one.ece.std, one.mce.mean, one.mce.std)
        for share in protocol.shares
        for one in share.methods
    )
    columns = ("share fitted on", "method", "ECE", "ECE std", "MCE", "MCE std")
    return Drawing(
        name="protocol",
        title="The paper's protocol",
        caption=f"Fitted on a part of the test images, measured on the rest, over {protocol.splits} random splits; "
        "lines are one standard deviation to each side.",
        panels=tuple(panels),
        data=(Table(name="", title="Protocol", columns=columns, rows=rows),),
    )


def _errors(protocol: ProtocolRecord, name: str) -> tuple[Figure, str]:
    labels, means, spreads = [], [], []
    for share in protocol.shares:
        for one in share.methods:
            spread = getattr(one, name)
            labels.append(f"{one.method}, fit on {share.share:.0%}")
            means.append(spread.mean)
            spreads.append(spread.std)
    figure = intervals(
        labels,
        Series(
            name=name.upper(),
            values=means,
            low=[max(0.0, mean - std) for mean, std in zip(means, spreads, strict=True)],
            high=[mean + std for mean, std in zip(means, spreads, strict=True)],
            look={"color": BLUE},
        ),
        Names(title=name.upper(), x=name.upper(), y="", percent_x=True, percent_y=False),
    )
    said = ", ".join(f"{label} {write_number(mean, 'percent')}" for label, mean in zip(labels, means, strict=True))
    return figure, f"{name.upper()}: {said}."


def facts(record: CalibrationRecord) -> tuple[Fact, ...]:
    """ECE of what predictions use."""
    if record.fitted is None:
        return ()
    names = [one.method for one in record.fitted.methods]
    used = "h_aug" if "h_aug" in names else "h_T"
    plain = next((one.ece for one in record.fitted.methods if one.method == "softmax"), None)
    return (
        Fact(
            label=f"calibration error (ECE) of {used}",
            pointer=f"/record/fitted/methods/{names.index(used)}/ece",
            note="" if plain is None else f"{write_number(plain, 'percent')} of softmax as it is",
        ),
    )


STORY = Story(shows=SHOWS, finding=finding, draw=draw, facts=facts)
