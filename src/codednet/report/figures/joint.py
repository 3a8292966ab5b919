"""The joint decoder by depth."""

from codednet.experiments.experiment import Table
from codednet.experiments.joint import JointRecord
from codednet.report.drawing import Drawing, Panel
from codednet.report.figures import Story
from codednet.report.shapes import Names, Series, lines
from codednet.report.style import ACTIVE, INACTIVE
from codednet.report.wording import block_tick, write_number

SHOWS = (
    "One guess from the energies of all coded blocks read so far, instead of one guess a block. It is fitted on images "
    "kept from training, and compared with the best early decoder of the same depth on the same test images."
)


def finding(record: JointRecord) -> str:
    """At how many depths the joint decoder is better, and the last depth."""
    verdicts = [one.difference.verdict for one in record.depths]
    last = record.depths[-1]
    return (
        f"At {verdicts.count('better')} of {len(verdicts)} depths the joint decoder is better than the best early "
        f"decoder, at {verdicts.count('worse')} worse, at {verdicts.count('undecided')} undecided ({record.level:.0%} "
        f"bootstrap intervals). After {last.block}: {write_number(last.joint, 'percent')} against "
        f"{write_number(last.best_single, 'percent')}; the whole network {write_number(record.accuracy, 'percent')}."
    )


def draw(record: JointRecord) -> tuple[Drawing, ...]:
    """Joint and early decoders by depth, and the difference with its interval."""
    ticks = [block_tick(one.block) for one in record.depths]
    joint = [one.joint for one in record.depths]
    best = [one.best_single for one in record.depths]
    means = [one.difference.mean for one in record.depths]
    low, high = [one.difference.low for one in record.depths], [one.difference.high for one in record.depths]
    accuracy = lines(
        ticks,
        [
            Series(name="joint decoder", values=joint, look=ACTIVE),
            Series(name="best early decoder so far", values=best, look=INACTIVE),
        ],
        Names(title="Accuracy by depth", x="read up to block", y="accuracy"),
        references={"whole network": record.accuracy},
    )
    gain = lines(
        ticks,
        [Series(name="joint less best early", values=means, look=ACTIVE, low=low, high=high)],
        Names(title="Difference, with its interval", x="read up to block", y="difference of accuracy"),
        references={"no difference": 0.0},
    )
    said = "; ".join(
        f"{one.block} {write_number(one.difference.mean, 'points')} "
        f"({write_number(one.difference.low, 'points')} to {write_number(one.difference.high, 'points')})"
        for one in record.depths
    )
    rows = tuple(zip([one.block for one in record.depths], joint, best, means, low, high, strict=True))
    columns = ("block", "joint", "best early decoder", "difference", "low", "high")
    return (
        Drawing(
            name="depth",
            title="Joint decoder and early decoders",
            caption=f"Shaded: {record.level:.0%} interval of {record.draws:,} bootstrap draws over the test images.",
            panels=(
                Panel(figure=accuracy, title="Accuracy of joint and early decoders by depth", text=finding(record)),
                Panel(figure=gain, title="Gain of the joint decoder by depth", text=f"Joint less best early: {said}."),
            ),
            data=(Table(name="", title="Joint decoder", columns=columns, rows=rows),),
        ),
    )


STORY = Story(
    shows=SHOWS,
    finding=finding,
    draw=draw,
    shares=lambda _record: frozenset({"joint", "this block alone", "best alone so far", "difference", "low", "high"}),
)
