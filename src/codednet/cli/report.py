"""`codednet report`: every table and figure of a run, measured where they are missing, on one page."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from codednet.cli.progress import experiments_bar
from codednet.errors import CodednetError

if TYPE_CHECKING:
    from codednet.experiments import Outcome, Subject
    from codednet.report.compose import Request
    from codednet.runs.folder import RunFolder

USUAL_STRANGERS = "quickdraw-mini"
"""Bundled images of no class, where none are named."""


@dataclass(frozen=True, kw_only=True)
class ReportConfig:
    """Measure what a run lacks of the paper's tables and figures, and ours, and show all of it on one page.

    What has been measured is shown as it is, unless the network, words, data or options have changed since.
    """

    run: str
    """A run folder."""
    baseline: str | None = None
    """A run of the plain twin on the same data."""
    sweep: str | None = None
    """A folder of `codednet sweep`."""
    against: list[str] | None = None
    """Images of no class: mnist, cifar10 or other data sets, or folders of images; quickdraw-mini, which is bundled, if
    the option is left out, and none if nothing follows it."""
    against_root: str | None = None
    """Folder of the data sets that --against names, where it is not ./data."""
    only: list[str] = field(default_factory=list)
    """Sections, by name; all of them if the option is left out."""
    format: Literal["html", "md"] = "html"
    """html, a page that needs nothing else; or md, the same numbers as tables for a README or a model card."""
    output: str | None = None
    """File to write, standard output if -; if left out, report/index.html or report/report.md in the run folder, and
    report/part.html or report/part.md if --only names sections, so that a whole report stays."""
    root: str | None = None
    """Folder of the data, where it is another than the run was trained with."""
    batch: int = 128
    """Images at a time."""
    device: str = "auto"
    """auto, cpu, cuda or mps."""
    json: bool = False
    """Print one JSON object: the page, and what came of every section."""

    SHORT: ClassVar = {"-o": "--output"}


def run(config: ReportConfig) -> int:
    """Write the page and print its path; exit status 0, also where a section failed, which the page says."""
    from codednet.experiments import NAMES, find, run_experiments
    from codednet.runs.folder import open_run

    if config.output == "-" and config.json:
        raise CodednetError("--json and -o - both want standard output: give -o a file.")
    experiments = [find(name) for name in config.only or NAMES]
    folder = open_run(config.run)
    target = _target(config, folder.path)
    request = _request(config)
    subject = _subject(config, request)
    with experiments_bar(len(experiments)) as watch:
        outcomes = run_experiments(subject, experiments, watch)
    text = _written(config.format, request, subject, outcomes)
    _put(text, target)
    if config.json:
        sections = {outcome.experiment.name: _said(outcome) for outcome in outcomes}
        print(json.dumps({"page": str(target), "sections": sections}))
    else:
        for outcome in outcomes:
            if outcome.failure is not None:
                print(f"failed: {outcome.experiment.name}: {outcome.failure}", file=sys.stderr)
        if target is not None:
            print(target)
    return 0


def _request(config: ReportConfig) -> "Request":
    from codednet.report.compose import Request

    return Request(
        run=config.run,
        baseline=config.baseline,
        sweep=config.sweep,
        against=None if config.against is None else tuple(config.against),
        against_root=config.against_root,
        root=config.root,
    )


def _subject(config: ReportConfig, request: "Request") -> "Subject":
    from codednet.experiments import Against, Subject
    from codednet.paths.strangers import find_strangers, with_roots
    from codednet.runs.folder import open_run

    folder = open_run(config.run)
    if config.sweep is not None and not Path(config.sweep).is_dir():
        raise CodednetError(f"'{config.sweep}' is no folder. `codednet sweep RECIPE --set key=a,b,c` makes one.")
    names = _usual_strangers(folder) if request.against is None else request.against
    subject = Subject(
        folder,
        baseline=None if config.baseline is None else open_run(config.baseline),
        sweep=None if config.sweep is None else Path(config.sweep),
        against=[Against(name=name, root=root) for name, root in with_roots(names, config.against_root)],
        root=config.root,
        batch=config.batch,
        device=config.device,
    )
    for one in subject.against:  # what is not there is said before anything is measured
        find_strangers(one.name, one.root, subject.data.config, subject.model.in_chans)
    return subject


def _usual_strangers(folder: "RunFolder") -> tuple[str, ...]:
    """The bundled images; none for a network of classes that they belong to."""
    from codednet.data import DataConfig, open_data

    theirs = open_data(DataConfig(name=USUAL_STRANGERS, tune=0)).classes
    ours = folder.load_model().config.class_names
    return () if ours and set(ours) <= set(theirs) else (USUAL_STRANGERS,)


def _target(config: ReportConfig, run: Path) -> Path | None:
    """The file to write; None is standard output."""
    if config.output == "-":
        return None
    if config.output is None:
        if config.only:
            return run / "report" / f"part.{config.format}"
        return run / "report" / ("index.html" if config.format == "html" else "report.md")
    target = Path(config.output)
    if target.is_dir():
        raise CodednetError(f"'{target}' is a folder: give -o a file, such as {target / 'index.html'}.")
    return target


def _written(form: str, request: "Request", subject: "Subject", outcomes: "list[Outcome]") -> str:
    from codednet.report.compose import compose
    from codednet.report.markdown import write_markdown
    from codednet.report.page import write_html

    page = compose(request, subject, outcomes)
    return write_html(page) if form == "html" else write_markdown(page)


def _put(text: str, target: Path | None) -> None:
    from codednet.atomic import write_whole

    if target is None:
        sys.stdout.write(text)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, lambda path: path.write_text(text, encoding="utf-8"))


def _said(outcome: "Outcome") -> dict[str, Any]:
    if outcome.result is not None:
        state = "unchanged" if outcome.result.cached else "measured"
        return {"state": state, "record": f"results/{outcome.result.file}.json"}
    if outcome.missing is not None:
        return {"state": "missing", "why": outcome.missing.what, "command": outcome.missing.command}
    return {"state": "failed", "why": outcome.failure}
