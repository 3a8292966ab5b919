"""The transparency certificate: its checks, beside their bars and controls."""

from codednet.experiments.certificate import CertificateRecord, Check
from codednet.experiments.experiment import Table
from codednet.experiments.measures import PathMeasures
from codednet.report.drawing import Drawing, Panel, Verdict
from codednet.report.figures import Story
from codednet.report.shapes import Names, Series, bars, lines
from codednet.report.style import BLUE, GREY, SERIES
from codednet.report.wording import block_tick, write_number

SHOWS = (
    "Transparent means: what the network knows of a class travels along the path of that class. Each check can fail: "
    "it must reach a bar that is written beside it, while the same network read along shuffled words, which name wrong "
    "paths, must stay below. With a baseline, the plain twin is read along the same words too."
)
_CHECKS = {
    "energy": "energy lies on the path",
    "removal": "branches off the path can go, those on it cannot",
    "detectors": "the network of one class tells it from the others",
}
_WORDS = {"own": "this run", "shuffled": "shuffled words", "plain twin": "plain twin"}


def verdict_of(record: CertificateRecord) -> Verdict:
    """The certificate in a sentence."""
    failed = [check for check in record.checks if not check.passed]
    if not failed:
        return Verdict(
            passed=True,
            title="Transparency certificate: passed",
            text=f"All {len(record.checks)} checks hold, and the controls fail as they must: "
            f"{'; '.join(map(_said, record.checks))}.",
        )
    whole = f"{len(failed)} of {len(record.checks)} checks"
    return Verdict(
        passed=False,
        title="Transparency certificate: failed",
        text=f"{whole} {'does' if len(failed) == 1 else 'do'} not hold: {'; '.join(map(_said, failed))}.",
    )


def _said(check: Check) -> str:
    """A check and its numbers."""
    value, bar = (write_number(one, "percent") for one in (check.value, check.bar))
    said = f"{_CHECKS[check.name]} ({value}, at least {bar} asked"
    if not check.passed and check.value >= check.bar and check.shuffled is not None:
        return f"{said}, but shuffled words reach {write_number(check.shuffled, 'percent')} too)"
    return f"{said})"


def finding(record: CertificateRecord) -> str:
    """The certificate in a sentence, and whose words it was read along."""
    own = (
        "" if record.coded else " The network is plain: it was read along the words that its coded variant would have."
    )
    return f"{verdict_of(record).text}{own}"


def draw(record: CertificateRecord) -> tuple[Drawing, ...]:
    """Every check beside its bar and its controls; and the energy on the path, block by block."""
    return _checks(record), _energies(record)


def _checks(record: CertificateRecord) -> Drawing:
    rows = tuple((one.name, one.value, one.shuffled, one.plain_twin, one.bar) for one in record.checks)
    columns = ("check", "this run", "shuffled words", "plain twin", "bar")
    return Drawing(
        name="checks",
        title="The checks, each beside what it must reach",
        caption="Blue is this run, which must reach the dashed bar; grey are the controls, of which shuffled words "
        "must stay below it.",
        panels=tuple(_check(one) for one in record.checks),
        data=(Table(name="", title="Checks", columns=columns, rows=rows),),
    )


def _check(one: Check) -> Panel:
    values = {"this run": one.value, "shuffled words": one.shuffled, "plain twin": one.plain_twin}
    shown = {name: value for name, value in values.items() if value is not None}
    figure = bars(
        list(shown),
        [Series(name=one.name, values=list(shown.values()))],
        Names(title=one.name, x=_AXES[one.name], y="", percent_x=True, percent_y=False),
        references={"must reach": one.bar},
        colours=[BLUE if name == "this run" else GREY for name in shown],
        hatches=["" if name == "this run" else "//" for name in shown],
    )
    said = ", ".join(f"{name} {write_number(value, 'percent')}" for name, value in shown.items())
    text = f"{one.name}, {one.what}: {said}; at least {write_number(one.bar, 'percent')} asked. {one.reason}"
    return Panel(figure=figure, title=f"Check of {one.name}: {_CHECKS[one.name]}", text=text)


_AXES = {
    "energy": "share of energy on the path",
    "removal": "accuracy lost, active less inactive",
    "detectors": "mean F1",
}


def _energies(record: CertificateRecord) -> Drawing:
    own = record.measures[0]
    ticks = [block_tick(one.block) for one in own.blocks]
    series = [
        Series(name=_WORDS[one.words], values=[block.energy for block in one.blocks], look=SERIES[at])
        for at, one in enumerate(record.measures)
    ]
    rates = [block.active / block.branches for block in own.blocks]
    series.append(Series(name="active of all branches", values=rates, look={"color": GREY, "linestyle": ":"}))
    figure = lines(ticks, series, Names(title="Energy on the path", x="coded block (stage.block)", y="share of energy"))
    rows = tuple(
        (block.block, one.words, block.energy, block.active / block.branches)
        for one in record.measures
        for block in one.blocks
    )
    columns = ("block", "words", "share of energy", "active of all branches")
    return Drawing(
        name="energy",
        title="Energy on the path of the image's class, block by block",
        caption="The dotted line is the share of the branches that are active: where it lies, branches know of no "
        "class.",
        panels=(Panel(figure=figure, title="Energy on the path by block", text=_energy_text(own)),),
        data=(Table(name="", title="Energy on the path", columns=columns, rows=rows),),
    )


def _energy_text(own: PathMeasures) -> str:
    said = ", ".join(
        f"{one.block} {write_number(one.energy, 'percent')} of the energy on {one.active} of {one.branches} branches"
        for one in own.blocks
    )
    return f"{said}."


def shares(_record: CertificateRecord) -> frozenset[str]:
    """Every check is a share, or a difference of shares."""
    return frozenset(("this run", "bar", "shuffled words", "plain twin"))


STORY = Story(shares=shares, shows=SHOWS, finding=finding, draw=draw)
