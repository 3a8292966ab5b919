"""The network stage by stage, and what one class takes of it."""

from codednet.experiments.architecture import ArchitectureRecord
from codednet.experiments.experiment import Table
from codednet.report.drawing import Drawing, Fact, Panel
from codednet.report.figures import Story
from codednet.report.shapes import Names, Series, bars
from codednet.report.style import BLUE, GREY
from codednet.report.wording import write_number

SHOWS = (
    "What the network is made of, stage by stage, written [channels out, channels of a branch, active/branches] x "
    "blocks. A block of which all branches are active serves every class alike; the others are coded. Counting needs "
    "no image."
)


def finding(record: ArchitectureRecord) -> str:
    """Size of the whole and of one class path."""
    whole = f"{record.parameters:,} parameters and {record.multiply_adds:,} multiply-adds an image"
    if record.class_path is None:
        return f"The network has {whole}; no block of it is coded."
    path = record.class_path
    return (
        f"The network has {whole}. That of one class alone keeps {write_number(path.parameters_share, 'percent')} of "
        f"the parameters and {write_number(path.multiply_adds_share, 'percent')} of the multiply-adds."
    )


def draw(record: ArchitectureRecord) -> tuple[Drawing, ...]:
    """Parameters by stage."""
    stages = record.parameters_by_stage
    figure = bars(
        list(stages),
        [Series(name="parameters", values=list(stages.values()), look={"color": BLUE})],
        Names(title="Parameters by stage", x="parameters", y="", percent_y=False),
        colours=[BLUE if _is_coded(record, name) else GREY for name in stages],
    )
    said = ", ".join(f"{name} {count:,}" for name, count in stages.items())
    rows = tuple(stages.items())
    return (
        Drawing(
            name="stages",
            title="Where the parameters are",
            caption="Blue: stages with coded blocks; grey: stages that serve every class alike.",
            panels=(Panel(figure=figure, title="Parameters by stage", text=f"Parameters: {said}."),),
            data=(Table(name="", title="Parameters by stage", columns=("stage", "parameters"), rows=rows),),
        ),
    )


def _is_coded(record: ArchitectureRecord, stage: str) -> bool:
    return any(row.stage == stage and row.active < row.branches for row in record.stages)


def facts(record: ArchitectureRecord) -> tuple[Fact, ...]:
    """Parameters, and the share of one class."""
    whole = Fact(label="parameters", pointer="/record/parameters", form="number")
    if record.class_path is None:
        return (whole,)
    share = write_number(record.class_path.multiply_adds_share, "percent")
    return whole, Fact(
        label="parameters of one class alone",
        pointer="/record/class_path/parameters_share",
        note=f"of the whole; {share} of the multiply-adds",
    )


STORY = Story(shows=SHOWS, finding=finding, draw=draw, facts=facts)
