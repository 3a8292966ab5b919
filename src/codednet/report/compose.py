"""A report of a run: what was asked, every experiment's outcome, and all of it as a page or as Markdown."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from codednet import __version__
from codednet.experiments import Outcome, Subject
from codednet.report.drawing import Verdict
from codednet.report.figures.certificate import verdict_of
from codednet.report.page import Page
from codednet.report.section import Section, make_section
from codednet.runs.folder import RunFolder

SUMMARY = ("accuracy", "early", "detectors", "architecture", "exits", "calibration", "strangers", "cost")
"""Sections whose key numbers the summary shows, in this order."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a report was asked for: the words of its command line."""

    run: str
    baseline: str | None = None
    sweep: str | None = None
    against: tuple[str, ...] | None = None
    """None is the bundled images."""
    against_root: str | None = None
    root: str | None = None

    def command(self, only: str | None = None) -> str:
        """The command line of this report, or of one section of it."""
        words = ["codednet", "report", self.run]
        for name in ("baseline", "sweep"):
            if (value := getattr(self, name)) is not None:
                words += [f"--{name}", value]
        words += [] if self.against is None else ["--against", *self.against]
        for name in ("against_root", "root"):
            if (value := getattr(self, name)) is not None:
                words += [f"--{name.replace('_', '-')}", value]
        words += [] if only is None else ["--only", only]
        return shlex.join(words)


def compose(request: Request, subject: Subject, outcomes: Sequence[Outcome]) -> Page:
    """The report of these outcomes."""
    sections = tuple(make_section(outcome, request.command(outcome.experiment.name)) for outcome in outcomes)
    by_name = {section.name: section for section in sections}
    facts = tuple(fact for name in SUMMARY if name in by_name for fact in by_name[name].facts)
    return Page(
        title=f"Report of {subject.folder.path.resolve().name}",
        about=about(subject, request),
        verdict=_verdict(outcomes),
        facts=facts,
        lacking=_lacking(sections),
        sections=sections,
        footer=f"Made by codednet {__version__}: {request.command()}",
        version=__version__,
    )


def about(subject: Subject, request: Request) -> tuple[tuple[str, str], ...]:
    """Network, recipe, data and machine of the run."""
    folder, config = subject.folder, subject.folder.config()
    splits = ", ".join(f"{name} {len(images):,}" for name, images in subject.data.splits.items())
    rows = [
        ("run", request.run),
        ("network", f"{subject.model.config.architecture}, {len(subject.names())} classes"),
        ("recipe", f"{config.recipe}, seed {config.seed}, {config.optim.epochs} epochs"),
        ("coding", f"mu {config.coding.mu:g}, drop branch {config.coding.drop_branch:g}"),
        ("data", f"{config.data.name}: {splits} images"),
        ("compared with", _compared(subject)),
    ]
    return tuple((what, value) for what, value in [*rows, *_trained(folder)] if value)


def _compared(subject: Subject) -> str:
    parts = [] if subject.baseline is None else [f"plain twin {subject.baseline.path}"]
    parts += [] if subject.sweep is None else [f"sweep {subject.sweep}"]
    names = ", ".join(one.name for one in subject.against)
    return "; ".join([*parts, f"images of no class: {names}"] if names else parts)


def _trained(folder: RunFolder) -> list[tuple[str, str]]:
    """When and on what it was trained, where the run says."""
    file = folder.path / "environment.json"
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    machine = ", ".join([*found.get("gpus", []), str(found.get("processor", "")), f"{found.get('threads')} threads"])
    versions = ", ".join(f"{name} {version}" for name, version in found.get("packages", {}).items())
    return [("trained", f"{found.get('started', '')[:10]} on {machine}"), ("with", versions)]


def _verdict(outcomes: Sequence[Outcome]) -> Verdict | None:
    for outcome in outcomes:
        if outcome.experiment.name == "certificate" and outcome.result is not None:
            return verdict_of(outcome.result.record)
    return None


def _lacking(sections: Sequence[Section]) -> str:
    missing = [section.title for section in sections if section.missing is not None]
    failed = [section.title for section in sections if section.failure is not None]
    said = f"Not measured, with the command that would: {'; '.join(missing)}. " if missing else ""
    return said + (f"Failed: {'; '.join(failed)}." if failed else "")
