"""`codednet demo`: the whole story in minutes: a coded network and its plain twin, everything measured, one page."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from codednet.cli.progress import experiments_bar
from codednet.errors import CodednetError

if TYPE_CHECKING:
    from codednet.experiments import Outcome
    from codednet.runs.config import RunConfig

RECIPE = "fashion-mini"
STRANGERS = "quickdraw-mini"
CODED, PLAIN = "coded", "plain"
MINUTES, QUICK_MINUTES = 8, 3
# What is planned for, so that a machine that becomes a little slower still ends in time.
MARGIN = 0.85
# The report costs about as much as training on so many images, and what no speed changes takes so many seconds.
REPORT_IMAGES, FIXED_SECONDS = 55_000, 15


@dataclass(frozen=True, kw_only=True)
class DemoConfig:
    """Train a coded network and its plain twin on the bundled images, measure what they can do, and write the report.

    Everything it needs is part of the package. Interrupted, the same command goes on.
    """

    output: str = "runs/demo"
    """Folder of the two runs."""
    quick: bool = False
    """Train for fewer epochs, to be done in three minutes instead of eight."""
    json: bool = False
    """Print one JSON object."""

    SHORT: ClassVar = {"-o": "--output"}


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The story in numbers, all of the test split; None where one could not be measured."""

    accuracy: float | None
    plain_accuracy: float | None
    last_decoder: float | None
    """Accuracy of the last early decoder."""
    detector_f1: float | None
    """Mean over the detectors that are cut out."""
    plain_detector_f1: float | None
    """Of detectors that are cut out of the plain twin along the same words."""
    one_class_parameters: float | None
    """Of the network of one class, as a share of the whole."""
    exit_saving: float | None
    """Share of the multiply-adds that the exits save."""
    exit_accuracy: float | None
    ece_before: float | None
    """Calibration error of softmax as it is."""
    ece_after: float | None
    """Of the calibrated confidence that agreement of the early decoders goes into."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What there is time for, and that in a sentence."""

    epochs: int
    sentence: str


def run(config: DemoConfig) -> int:
    """Print the table and the page's path; exit status 0, or 1 where something could not be measured."""
    folder = Path(config.output)
    try:
        recipe = _recipe(config, folder)
        _train(recipe, folder)
        outcomes, page = _report(folder)
    except KeyboardInterrupt:
        _say(f"What is done is kept; the same command goes on: codednet demo -o {folder}")
        raise
    found = summarise(outcomes)
    failures = {one.experiment.name: one.failure for one in outcomes if one.failure is not None}
    if config.json:
        runs = {name: str(folder / name) for name in (CODED, PLAIN)}
        print(json.dumps({"page": str(page), **runs, "epochs": recipe.optim.epochs, **asdict(found)}))
    else:
        _print(found, recipe.optim.epochs, page)
    for name, why in failures.items():
        _say(f"failed: {name}: {why}")
    return 1 if failures else 0


def _recipe(config: DemoConfig, folder: Path) -> "RunConfig":
    """The recipe over as many epochs as there is time for; that of the folder's own run where it was begun before."""
    from codednet.data import open_data
    from codednet.runs.folder import RunFolder
    from codednet.training import load_recipe
    from codednet.training.pace import measure_pace, shortened

    recipe, begun = load_recipe(RECIPE), RunFolder(folder / CODED)
    if begun.config_file.is_file():
        stored = begun.config()
        if stored.optim.epochs > recipe.optim.epochs or stored != shortened(recipe, stored.optim.epochs):
            raise CodednetError(f"'{begun.path}' holds another training than the demo's: give another folder with -o.")
        _say(f"going on with the demo in '{folder}', of {stored.optim.epochs} epochs")
        return stored
    _say("measuring the speed of this machine")
    found = plan(recipe, len(open_data(recipe.data).indices("train")), measure_pace(recipe), config.quick)
    _say(found.sentence)
    return shortened(recipe, found.epochs)


def plan(recipe: "RunConfig", images: int, pace: float, quick: bool) -> Plan:
    """As many of the recipe's epochs, of so many images each, as end in time at a pace in images a second."""
    from codednet.training.pace import epochs_within

    minutes, usual = QUICK_MINUTES if quick else MINUTES, recipe.optim.epochs
    seconds = MARGIN * 60 * minutes - FIXED_SECONDS - REPORT_IMAGES / pace
    epochs = epochs_within(seconds, pace, images, trainings=2, most=usual)
    speed = f"about {pace:,.0f} images a second"
    if seconds <= 0:
        sentence = f"{speed} is too slow for {minutes} minutes: both networks train for one epoch, which shows little"
    elif epochs < usual:
        counted = "1 epoch" if epochs == 1 else f"{epochs} epochs"
        sentence = (
            f"{speed}: to end within {minutes} minutes, both networks train for {counted} instead of {usual}, and will "
            "be less accurate"
        )
    else:
        sentence = f"{speed}: the coded network and its plain twin train for all {usual} epochs of the recipe"
    return Plan(epochs=epochs, sentence=sentence)


def _train(recipe: "RunConfig", folder: Path) -> None:
    from codednet.training.sweep import sweep

    plain = replace(recipe, model=replace(recipe.model, coded=False))
    sweep([(CODED, recipe), (PLAIN, plain)], folder, say=_say)


def _report(folder: Path) -> "tuple[list[Outcome], Path]":
    """What came of every experiment, and the page that was written."""
    from codednet.atomic import write_whole
    from codednet.experiments import NAMES, Against, Subject, find, run_experiments
    from codednet.report.compose import Request, compose
    from codednet.report.page import write_html
    from codednet.runs.folder import open_run

    request = Request(run=str(folder / CODED), baseline=str(folder / PLAIN))
    coded = open_run(request.run)
    subject = Subject(coded, baseline=open_run(folder / PLAIN), against=[Against(name=STRANGERS)])
    experiments = [find(name) for name in NAMES]
    with experiments_bar(len(experiments)) as watch:
        outcomes = run_experiments(subject, experiments, watch)
    page = coded.path / "report" / "index.html"
    page.parent.mkdir(exist_ok=True)
    text = write_html(compose(request, subject, outcomes))
    write_whole(page, lambda path: path.write_text(text, encoding="utf-8"))
    return outcomes, page


def summarise(outcomes: "Sequence[Outcome]") -> Summary:
    """The numbers that the story is told in, from the experiments that went well."""
    found = {one.experiment.name: one.result.record for one in outcomes if one.result is not None}
    accuracy, early, exits = found.get("accuracy"), found.get("early"), found.get("exits")
    families = found["detectors"].families if "detectors" in found else {}
    f1 = {name: family.in_distribution.f1 for name, family in families.items()}
    path = found["architecture"].class_path if "architecture" in found else None
    fitted = found["calibration"].fitted if "calibration" in found else None
    errors = {} if fitted is None else {one.method: one.ece for one in fitted.methods}
    return Summary(
        accuracy=None if accuracy is None else accuracy.accuracy.mean,
        plain_accuracy=None if accuracy is None or accuracy.twin is None else accuracy.twin.accuracy.mean,
        last_decoder=None if early is None else early.decoders[-1].accuracy,
        detector_f1=f1.get("extracted"),
        plain_detector_f1=f1.get("baseline_extracted"),
        one_class_parameters=None if path is None else path.parameters_share,
        exit_saving=None if exits is None else 1 - exits.chosen.cost,
        exit_accuracy=None if exits is None else exits.chosen.accuracy,
        ece_before=errors.get("softmax"),
        ece_after=errors.get("h_aug"),
    )


def _print(found: Summary, epochs: int, page: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"One training of {epochs} epochs, on the test split", title_justify="left")
    for head in ("", "coded", "plain twin"):
        table.add_column(head, justify="right" if head else "left")
    for name, coded, plain in (
        ("accuracy", found.accuracy, found.plain_accuracy),
        ("accuracy of the last early decoder", found.last_decoder, None),
        ("F1 of the detectors cut out, mean over classes", found.detector_f1, found.plain_detector_f1),
        ("parameters of one class alone", found.one_class_parameters, None),
        ("multiply-adds that exits save", found.exit_saving, None),
        ("accuracy with exits", found.exit_accuracy, None),
        ("calibration error (ECE), as trained", found.ece_before, None),
        ("calibration error (ECE), calibrated", found.ece_after, None),
    ):
        table.add_row(name, *("" if value is None else f"{value:.1%}" for value in (coded, plain)))
    console = Console()
    console.print(table)
    print(f"The report, with all tables and figures: {page}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
