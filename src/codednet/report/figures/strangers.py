"""Images of none of the classes: how well they are told from one's own."""

from codednet.decoding.strangers import FROM_CODE
from codednet.experiments.experiment import Table
from codednet.experiments.strangers import StrangerSet, StrangersRecord
from codednet.report.drawing import Drawing, Fact, Panel
from codednet.report.figures import Story
from codednet.report.shapes import Names, Series, bars
from codednet.report.style import BLUE, GREY
from codednet.report.wording import write_number

SHOWS = (
    "Images that belong to none of the classes, mixed with the test images: which score tells them apart best, one "
    "read from the code (do the energies look like any word?) or one read from the logits? AUROC is the chance that a "
    "stranger scores as stranger than one's own image; 50 % is a coin."
)


def finding(record: StrangersRecord) -> str:
    """A sentence for each set."""
    return " ".join(one.sentence() for one in record.sets)


def draw(record: StrangersRecord) -> tuple[Drawing, ...]:
    """AUROC of every score, a panel for each set of strangers."""
    return (
        Drawing(
            name="auroc",
            title="Telling strangers from one's own images",
            caption="Blue bars are read from the code, grey hatched ones from the logits; the dashed line is chance.",
            panels=tuple(_panel(one) for one in record.sets),
            data=(_data(record),),
        ),
    )


def _panel(one: StrangerSet) -> Panel:
    labels = [score.score.replace("_", " ") for score in one.scores]
    code = [score.auroc if score.score in FROM_CODE else None for score in one.scores]
    logits = [None if score.score in FROM_CODE else score.auroc for score in one.scores]
    both = [own if own is not None else other for own, other in zip(code, logits, strict=True)]
    figure = bars(
        labels,
        [Series(name="AUROC", values=both)],
        Names(title=f"Against {one.against}", x="AUROC", y="", percent_x=True, percent_y=False),
        references={"chance": 0.5},
        colours=[BLUE if own is not None else GREY for own in code],
        hatches=["" if own is not None else "//" for own in code],
    )
    return Panel(figure=figure, title=f"AUROC of every score against {one.against}", text=one.sentence())


def _data(record: StrangersRecord) -> Table:
    rows = tuple((one.against, score.score, score.auroc) for one in record.sets for score in one.scores)
    return Table(name="", title="AUROC", columns=("against", "score", "AUROC"), rows=rows)


def facts(record: StrangersRecord) -> tuple[Fact, ...]:
    """The code's best score against the first set, beside the logits' best."""
    one = record.sets[0]
    at = [score.score for score in one.scores].index(one.best_of_code)
    logits = one.score(one.best_of_logits)
    return (
        Fact(
            label=f"AUROC of {one.best_of_code.replace('_', ' ')} against {one.against}",
            pointer=f"/record/sets/0/scores/{at}/auroc",
            note=f"{write_number(logits.auroc, 'percent')} by {logits.score.replace('_', ' ')} from the logits",
        ),
    )


STORY = Story(shows=SHOWS, finding=finding, draw=draw, facts=facts)
