"""Axes of a sweep: which fields of a config can be read by themselves, since trainings differ in nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from codednet.experiments.ablations import Setting
from codednet.experiments.experiment import Cell
from codednet.report.wording import write_number

TITLES = {
    "coding.mu": "weight mu of the coding loss",
    "coding.drop_branch": "probability of dropping a branch",
    "coding.exponent": "exponent of the coding loss",
    "coding.normalise": "energy normalisation",
    "model.active": "active branches by stage",
    "model.code_seed": "seed of the codes",
    "model.code_quality": "quality of the codes",
    "model.coded": "coded or plain",
}
CODED, CODE_SEED, QUALITY, CODE = "model.coded", "model.code_seed", "model.code_quality", "code"
# Numbers that are names: no seed lies between two others.
_NOMINAL = (CODE_SEED, "data.split_seed")


@dataclass(frozen=True, kw_only=True)
class Line:
    """Settings that differ in one field."""

    name: str
    """What they have in common that other lines have not; empty of a line alone."""
    settings: tuple[Setting, ...]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A field, and the settings that can be read along it."""

    field: str
    """Name in the config; "code" is the quality and the seed of the codes together, and empty is all fields."""
    numeric: bool
    """Whether values have places on a scale; else each has a row, labelled by all that tells settings apart."""
    lines: tuple[Line, ...]

    @property
    def name(self) -> str:
        """Short, without spaces."""
        return self.field.replace(".", "-") or "settings"

    @property
    def title(self) -> str:
        """For people."""
        return TITLES.get(self.field, self.field) or "setting"

    def place(self, setting: Setting) -> float:
        """Where a setting lies on a scale."""
        value = setting.settings[self.field]
        assert isinstance(value, int | float)
        return value

    @property
    def settings(self) -> list[Setting]:
        """Of all lines."""
        return [one for line in self.lines for one in line.settings]

    @property
    def alike(self) -> dict[str, Cell]:
        """What all of them have in common, which other settings of the sweep have not."""
        first, *rest = self.settings
        return {
            name: value for name, value in first.settings.items() if all(one.settings[name] == value for one in rest)
        }

    def label(self, setting: Setting) -> str:
        """A setting by what tells it from the others of the axis."""
        alike = self.alike
        return label_of({name: value for name, value in setting.settings.items() if name not in alike})


def axes_of(fields: Sequence[str], settings: Sequence[Setting]) -> tuple[Axis, ...]:
    """An axis for each field in which settings differ that are alike otherwise; if there is none, one of all fields."""
    merged = [_merged(one) if {CODE_SEED, QUALITY} <= set(fields) else one for one in settings]
    names = list(merged[0].settings)
    # A plain run differs from every other in all that concerns codes, so it has a place by itself alone.
    wanted = [name for name in names if name != CODED or len(names) == 1]
    axes = [axis for name in wanted if (axis := _axis(name, merged)).lines]
    return tuple(axes) or (Axis(field="", numeric=False, lines=(Line(name="", settings=tuple(merged)),)),)


def label_of(settings: Mapping[str, Cell]) -> str:
    """Settings in words, such as "mu 6, drop branch 0.1"."""
    if settings.get(CODED) == "false":
        settings = {name: value for name, value in settings.items() if value is not None and name != CODED}
        return ", ".join(["plain", *_said(settings)])
    settings = {name: value for name, value in settings.items() if name != CODED or len(settings) == 1}
    return ", ".join(_said(settings)) or "all alike"


def _said(settings: Mapping[str, Cell]) -> list[str]:
    if list(settings) == [CODED]:
        return ["coded"]
    return [f"{name.rpartition('.')[2].replace('_', ' ')} {write_number(value)}" for name, value in settings.items()]


def _axis(field: str, settings: Sequence[Setting]) -> Axis:
    by_rest: dict[tuple[tuple[str, Cell], ...], list[Setting]] = {}
    for one in settings:
        if one.settings[field] is not None:
            rest = tuple((name, value) for name, value in one.settings.items() if name != field)
            by_rest.setdefault(rest, []).append(one)
    found = {rest: group for rest, group in by_rest.items() if len(group) > 1}
    values = [one.settings[field] for group in found.values() for one in group]
    numeric = field not in _NOMINAL and all(isinstance(value, int | float) for value in values)
    lines = tuple(
        Line(
            name=label_of(dict(rest)) if len(found) > 1 else "",
            settings=tuple(sorted(group, key=lambda one: _number(one.settings[field])) if numeric else group),
        )
        for rest, group in found.items()
    )
    return Axis(field=field, numeric=numeric, lines=lines)


def _number(value: Cell) -> float:
    assert isinstance(value, int | float)
    return value


def _merged(setting: Setting) -> Setting:
    """The setting with one name for its code, since the seeds of good and of poor codes have nothing in common."""
    rest = {name: value for name, value in setting.settings.items() if name not in (CODE_SEED, QUALITY)}
    quality, seed = setting.settings[QUALITY], setting.settings[CODE_SEED]
    code = None if quality is None else f"{quality} {seed}"
    return replace(setting, settings={**rest, CODE: code})
