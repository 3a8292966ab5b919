"""Branch removal: accuracy without some active, or inactive, branches."""

from codednet.experiments.experiment import Table
from codednet.experiments.removal import Removal
from codednet.paths.removal import RemovalCurve
from codednet.report.drawing import Drawing, Panel
from codednet.report.figures import Story
from codednet.report.shapes import Names, Series, lines
from codednet.report.style import ACTIVE, INACTIVE
from codednet.report.wording import capped, write_number

SHOWS = (
    "Take branches out of one coded block. Without branches that are active for the image's class, accuracy should "
    "fall; without inactive ones it should stay, or even rise, since these only disturb. It is a diagnosis and no way "
    "to more accuracy: which branches are inactive is known only once the class is."
)
MOST_PANELS = 9


def finding(record: Removal) -> str:
    """The block that tells active and inactive branches apart most."""
    curve = max(record.curves, key=lambda one: one.inactive[-1] - one.active[-1])
    return f"Clearest in {curve.block}: {_said(record, curve)}"


def _said(record: Removal, curve: RemovalCurve) -> str:
    whole = write_number(record.accuracy, "percent")
    return (
        f"from {whole}, accuracy goes to {write_number(curve.active[-1], 'percent')} without all "
        f"{len(curve.active) - 1} active branches, and to {write_number(curve.inactive[-1], 'percent')} without all "
        f"{len(curve.inactive) - 1} inactive ones ({curve.images:,} test images)."
    )


def draw(record: Removal) -> tuple[Drawing, ...]:
    """A panel a block, on the same scale."""
    curves = record.curves[-MOST_PANELS:]
    low = min(value for curve in curves for value in (*curve.active, *curve.inactive))
    high = max(value for curve in curves for value in (*curve.active, *curve.inactive))
    room = (high - low) * 0.06 or 0.01
    panels = []
    for curve in curves:
        figure = lines(
            list(range(max(len(curve.active), len(curve.inactive)))),
            [
                Series(name="active branches removed", values=curve.active, look=ACTIVE),
                Series(name="inactive branches removed", values=curve.inactive, look=INACTIVE),
            ],
            Names(title=curve.block, x="branches removed", y="accuracy"),
            whole=True,
        )
        figure.axes[0].set_ylim(low - room, high + room)
        panels.append(Panel(figure=figure, title=f"Branches removed from {curve.block}", text=_text(record, curve)))
    return (
        Drawing(
            name="curves",
            title="Accuracy without some branches of one block",
            caption=f"{capped(len(curves), len(record.curves), 'coded blocks, the last')}Which branches go is drawn "
            "for every image; those that go for k go for k + 1 too. All panels have the same scale.",
            panels=tuple(panels),
            data=(_data(record),),
        ),
    )


def _text(record: Removal, curve: RemovalCurve) -> str:
    return f"{curve.block}: {_said(record, curve)}"


def _data(record: Removal) -> Table:
    rows = tuple(
        (curve.block, kind, removed, value)
        for curve in record.curves
        for kind, values in (("active", curve.active), ("inactive", curve.inactive))
        for removed, value in enumerate(values)
    )
    return Table(name="", title="Removal", columns=("block", "branches", "removed", "accuracy"), rows=rows)


STORY = Story(shows=SHOWS, finding=finding, draw=draw)
