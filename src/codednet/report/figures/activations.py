"""Activations: how far the outputs of branches reach."""

from codednet.experiments.activations import Activations, BranchActivations
from codednet.experiments.experiment import Table
from codednet.report.drawing import Drawing, Panel
from codednet.report.figures import Story
from codednet.report.shapes import Names, Series, steps
from codednet.report.style import ACTIVE, INACTIVE
from codednet.report.wording import capped, write_plain

SHOWS = (
    "Outputs of single branches, as absolute values, for images of classes that they work for and of classes that they "
    "do not. If training did what the code asks, the first reach further from zero. The scale of shares is "
    "logarithmic, since most values are small."
)
MOST_PANELS = 6


def finding(record: Activations) -> str:
    """Mean of each kind, over the branches shown."""
    pairs = [(one.active.mean, one.inactive.mean) for one in record.branches]
    known = [(active, inactive) for active, inactive in pairs if active is not None and inactive is not None]
    if not known:
        return f"No image of the sample tells active from inactive branches of {record.block}."
    further = sum(active > inactive for active, inactive in known)
    return (
        f"In {record.block}, {further} of {len(known)} branches reach further on average for images of their classes "
        f"than for others ({record.sample.images:,} test images)."
    )


def draw(record: Activations) -> tuple[Drawing, ...]:
    """A panel a branch."""
    branches = record.branches[:MOST_PANELS]
    rows = tuple(
        (one.branch, kind, low, high, count)
        for one in branches
        for kind, reach in (("active", one.active), ("inactive", one.inactive))
        for low, high, count in zip(record.edges, record.edges[1:], reach.counts, strict=False)
    )
    return (
        Drawing(
            name="reach",
            title=f"Outputs of branches of {record.block}",
            caption=f"{capped(len(branches), record.num_branches, 'branches, the first')}Shares of all values, "
            "channels and positions together, before energies are normalised.",
            panels=tuple(_panel(record, one) for one in branches),
            data=(Table(name="", title="Outputs", columns=("branch", "it is", "from", "to", "count"), rows=rows),),
        ),
    )


def _panel(record: Activations, one: BranchActivations) -> Panel:
    figure = steps(
        record.edges,
        [
            Series(name="active", values=one.active.counts, look=ACTIVE),
            Series(name="inactive", values=one.inactive.counts, look=INACTIVE),
        ],
        Names(title=f"branch {one.branch}", x="absolute output", y="share of values", percent_y=False),
        log=True,
    )
    said = "; ".join(
        f"{kind}: mean {write_plain(reach.mean)}, largest {write_plain(reach.largest)}"
        for kind, reach in (("active", one.active), ("inactive", one.inactive))
        if reach.mean is not None and reach.largest is not None
    )
    title = f"Outputs of branch {one.branch} of {record.block}"
    return Panel(figure=figure, title=title, text=f"Branch {one.branch}, {said}.")


STORY = Story(shows=SHOWS, finding=finding, draw=draw)
