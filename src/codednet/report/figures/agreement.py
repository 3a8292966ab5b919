"""Accuracy given agreement: how far to trust an answer that so many early decoders share."""

from codednet.experiments.agreement import AgreementRecord
from codednet.experiments.experiment import Table
from codednet.report.drawing import Drawing, Panel
from codednet.report.figures import Story
from codednet.report.shapes import Names, Series, lines
from codednet.report.style import ACTIVE, GREY
from codednet.report.wording import write_number

SHOWS = (
    "The early decoders vote on the final answer. The more of them name the same class, the more often that answer "
    "should be right: a confidence that costs nothing more than reading the energies."
)


def finding(record: AgreementRecord) -> str:
    """Fewest and most agreeing decoders."""
    full = [row for row in record.rows if row.accuracy is not None]
    low, high = full[0], full[-1]
    return (
        f"Where {low.agreeing} of {record.decoders} early decoders agree, {write_number(low.accuracy, 'percent')} of "
        f"the answers are right ({low.images:,} of {record.images:,} images); where {high.agreeing} agree, "
        f"{write_number(high.accuracy, 'percent')} ({high.images:,} images)."
    )


def draw(record: AgreementRecord) -> tuple[Drawing, ...]:
    """Accuracy, and the share of images, by the number of agreeing decoders."""
    agreeing = [row.agreeing for row in record.rows]
    shares = [row.images / record.images for row in record.rows]
    accuracies = [row.accuracy for row in record.rows]
    figure = lines(
        agreeing,
        [
            Series(name="accuracy of the answer", values=accuracies, look=ACTIVE),
            Series(name="share of images", values=shares, look={"color": GREY, "marker": "v", "linestyle": ":"}),
        ],
        Names(title="Accuracy given agreement", x="early decoders that agree", y=""),
        references={"accuracy of all": record.accuracy},
        whole=True,
    )
    rows = tuple(zip(agreeing, shares, accuracies, strict=True))
    data = Table(name="", title="Agreement", columns=("agreeing decoders", "share of images", "accuracy"), rows=rows)
    return (
        Drawing(
            name="votes",
            title="Accuracy of the final answer, by agreement",
            caption="Each point holds the images on which exactly so many early decoders name the class that the whole "
            "network names in the end.",
            panels=(Panel(figure=figure, title="Accuracy by number of agreeing decoders", text=finding(record)),),
            data=(data,),
        ),
    )


STORY = Story(shows=SHOWS, finding=finding, draw=draw)
