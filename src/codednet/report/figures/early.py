"""Early decoders: accuracy by depth."""

from codednet.experiments.early import EarlyRecord
from codednet.experiments.experiment import Table
from codednet.report.drawing import Drawing, Fact, Panel
from codednet.report.figures import Story
from codednet.report.shapes import Names, Series, lines
from codednet.report.style import ACTIVE
from codednet.report.wording import block_tick, write_number

SHOWS = (
    "After each coded block one can already guess: the class whose word lies nearest to the energies of the block's "
    "branches. No parameter was added for it. The deeper the block, the better the guess should be."
)


def finding(record: EarlyRecord) -> str:
    """First and last decoder beside the whole network."""
    first, last = record.decoders[0], record.decoders[-1]
    return (
        f"The early decoder of {first.block} is right on {write_number(first.accuracy, 'percent')} of "
        f"{record.images:,} {record.split} images, that of {last.block} on {write_number(last.accuracy, 'percent')}; "
        f"the whole network on {write_number(record.accuracy, 'percent')}."
    )


def draw(record: EarlyRecord) -> tuple[Drawing, ...]:
    """Accuracy by block, with the whole network's as a level line."""
    names = [one.block for one in record.decoders]
    values = [one.accuracy for one in record.decoders]
    figure = lines(
        [block_tick(name) for name in names],
        [Series(name="early decoder", values=values, look=ACTIVE)],
        Names(title="Accuracy after each coded block", x="coded block (stage.block)", y="accuracy"),
        references={"whole network": record.accuracy},
    )
    rows = tuple(zip(names, values, strict=True))
    data = Table(name="", title="Accuracy by block", columns=("block", "accuracy"), rows=rows)
    return (
        Drawing(
            name="depth",
            title="Accuracy of the early decoders",
            caption="Share of images whose class each coded block's nearest word names; the dashed line is the whole "
            "network.",
            panels=(Panel(figure=figure, title="Accuracy of the early decoders by depth", text=finding(record)),),
            data=(data,),
        ),
    )


def facts(record: EarlyRecord) -> tuple[Fact, ...]:
    """The last decoder."""
    at = len(record.decoders) - 1
    return (
        Fact(
            label="accuracy of the last early decoder",
            pointer=f"/record/decoders/{at}/accuracy",
            note=f"at {record.decoders[at].block}, before the classifier",
        ),
    )


STORY = Story(shows=SHOWS, finding=finding, draw=draw, facts=facts)
