"""Outputs of detectors: one panel a class."""

from codednet.experiments.experiment import Table
from codednet.experiments.outputs import ClassOutputs, Outputs, histograms
from codednet.report.drawing import Drawing, Panel
from codednet.report.figures import Story
from codednet.report.shapes import Names, Series, steps
from codednet.report.style import SERIES
from codednet.report.wording import capped

SHOWS = (
    "What the extracted network of a class says of images of its class, of the other classes, and of images of no "
    "class. A detector is as good as these stay apart; its threshold is the dotted line."
)
MOST_PANELS = 10


def finding(record: Outputs) -> str:
    """Which of the classes shown keeps its images furthest above the threshold, and which least."""
    shares = {one.label: _above(record, one, one.positives) for one in record.classes}
    best, worst = max(shares, key=lambda label: shares[label]), min(shares, key=lambda label: shares[label])
    return (
        f"Of the {len(record.classes)} classes shown, the detector of {best} puts most of its images above its "
        f"threshold (about {shares[best]:.0%}), that of {worst} fewest (about {shares[worst]:.0%})."
    )


def _above(record: Outputs, one: ClassOutputs, counts: tuple[int, ...]) -> float:
    """Share in bins whose middle lies above the threshold."""
    middles = [(low + high) / 2 for low, high in zip(record.edges, record.edges[1:], strict=False)]
    total = sum(counts)
    above = sum(count for middle, count in zip(middles, counts, strict=True) if middle >= one.threshold)
    return above / total if total else 0.0


def draw(record: Outputs) -> tuple[Drawing, ...]:
    """Histograms of the first classes' detectors."""
    classes = record.classes[:MOST_PANELS]
    rows = tuple(
        (one.label, kind, low, high, count)
        for one in classes
        for kind, counts in histograms(one)
        for low, high, count in zip(record.edges, record.edges[1:], counts, strict=False)
    )
    return (
        Drawing(
            name="classes",
            title="Outputs of the extracted networks",
            caption=f"{capped(len(classes), record.num_classes, 'classes, the first')}Each histogram is a share of its "
            "own images, so that few and many compare.",
            panels=tuple(_panel(record, one) for one in classes),
            data=(Table(name="", title="Outputs", columns=("class", "images", "from", "to", "count"), rows=rows),),
        ),
    )


def _panel(record: Outputs, one: ClassOutputs) -> Panel:
    kinds = list(histograms(one))[: len(SERIES)]
    figure = steps(
        record.edges,
        [Series(name=kind, values=counts, look=SERIES[at]) for at, (kind, counts) in enumerate(kinds)],
        Names(title=one.label, x="output (logit)", y="share of images"),
        mark=one.threshold,
    )
    said = ", ".join(f"{_above(record, one, counts):.0%} of images {kind}" for kind, counts in kinds)
    return Panel(
        figure=figure,
        title=f"Outputs of the detector of {one.label}",
        text=f"{one.label}: above the threshold {one.threshold:.3g} are about {said}.",
    )


STORY = Story(shows=SHOWS, finding=finding, draw=draw)
