"""Cost: time and memory beside the plain twin."""

from codednet.experiments.cost import CostRecord, NetworkCost, Pace
from codednet.experiments.experiment import Table
from codednet.report.drawing import Drawing, Fact, Panel
from codednet.report.figures import Story
from codednet.report.shapes import Names, Series, bars
from codednet.report.style import BLUE, ORANGE, PURPLE
from codednet.report.wording import write_plain

SHOWS = (
    "What coding costs on the machine that made this report: time and memory beside the plain twin, both run in turn "
    "on the same images, and beside the naive form, which holds the output of every branch in memory as the equations "
    "are written."
)


def finding(record: CostRecord) -> str:
    """Ratios of the coded network and of the naive form."""
    said = [f"{record.batch} images of {record.image_size} x {record.image_size} on {record.device}"]
    for one in record.networks:
        if one.network == "plain":
            continue
        said += [f"{one.network}: a pass takes {_ratio(one.inference)} the plain twin's time"]
        said += [] if one.training is None else [f"a training step {_ratio(one.training)}"]
    if record.naive is not None:
        memory = record.naive.training_bytes / record.naive.coded_bytes
        said += [
            f"the naive form takes {_ratio(record.naive.training)} the time of ours and {memory:.3g} times the memory"
        ]
    return f"{'; '.join(said)}."


def _ratio(pace: Pace) -> str:
    return f"{pace.ratio:.2f} times" if pace.is_steady else f"about {pace.ratio:.1f} times (unsteady)"


def draw(record: CostRecord) -> tuple[Drawing, ...]:
    """Times and memory."""
    times = _times(record)
    memory = [(one.network, one.training_bytes) for one in record.networks if one.training_bytes is not None]
    if record.naive is not None:
        memory.append((f"naive form, {record.naive.batch} images", record.naive.training_bytes))
    figure = bars(
        [name for name, *_ in times],
        [
            Series(name="a pass", values=[one for _, one, _ in times], look={"color": BLUE}),
            Series(name="a training step", values=[one for _, _, one in times], look={"color": ORANGE, "hatch": "//"}),
        ],
        Names(title="Time", x="times that of the plain twin", y="", percent_y=False),
        references={"plain twin": 1.0},
    )
    said = "; ".join(f"{name}: pass {_shown(one)}, training step {_shown(two)}" for name, one, two in times)
    held = bars(
        [name for name, _ in memory],
        [Series(name="memory", values=[value / 2**20 for _, value in memory], look={"color": PURPLE})],
        Names(title="Memory of a training step", x="MiB over weights, momentum and images", y="", percent_y=False),
    )
    kept = "; ".join(f"{name} {value / 2**20:,.1f} MiB" for name, value in memory)
    return (
        Drawing(
            name="beside",
            title="Beside the plain twin",
            caption=f"Float32 on {record.device}, {record.threads} threads, {record.batch} images. Times of one "
            "machine: on another they differ.",
            panels=(
                Panel(figure=figure, title="Time beside the plain twin", text=f"Times the plain twin's time: {said}."),
                Panel(figure=held, title="Memory of a training step", text=f"Memory of a training step: {kept}."),
            ),
            data=(
                Table(name="time", title="Time", columns=("network", "a pass", "a training step"), rows=tuple(times)),
                Table(name="memory", title="Memory", columns=("network", "bytes"), rows=tuple(memory)),
            ),
        ),
    )


def _times(record: CostRecord) -> list[tuple[str, float | None, float | None]]:
    return [
        (one.network, one.inference.ratio, None if one.training is None else one.training.ratio)
        for one in record.networks
    ]


def _shown(value: float | None) -> str:
    return "not measured" if value is None else write_plain(value)


def facts(record: CostRecord) -> tuple[Fact, ...]:
    """Time of a training step beside the plain twin's."""
    names = [one.network for one in record.networks]
    if "coded" not in names:
        return ()
    coded: NetworkCost = record.networks[names.index("coded")]
    if coded.training is None or not coded.training.is_steady:
        return ()
    return (
        Fact(
            label="time of a training step, of the plain twin's",
            pointer=f"/record/networks/{names.index('coded')}/training/ratio",
            form="times",
            note="in float32 on the machine of this report",
        ),
    )


STORY = Story(shows=SHOWS, finding=finding, draw=draw, facts=facts)
