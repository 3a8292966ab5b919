"""`codednet detectors`: a detector of every class, cut out of a run's network, beside what it is compared with."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from rich.table import Table

    from codednet.experiments.detectors import Detectors
    from codednet.paths import Detector, Quality
    from codednet.paths.detectors import Negatives

LISTED = 20


@dataclass(frozen=True, kw_only=True)
class DetectorsConfig:
    """Make every class's extracted network a detector: fit its threshold, and measure it on the test split.

    Beside them, on the same images, the whole network's own logits as detectors; with a baseline, also the plain twin's
    logits, and what is cut out of the twin along the same words.
    """

    run: str
    """A run folder."""
    baseline: str | None = None
    """A run of the plain twin on the same data."""
    against: list[str] = field(default_factory=list)
    """Images of no class: mnist, cifar10 or other data sets, or folders of images."""
    against_root: str | None = None
    """Folder of the data sets that --against names, where it is not ./data."""
    fit_on: str = "auto"
    """Split that thresholds are fitted on: tune-fit; train, as in the paper; or auto, tune-fit where there is one."""
    precision: float | None = None
    """Precision that thresholds are to reach, with the most recall; the largest F1 with neither."""
    recall: float | None = None
    """Recall that thresholds are to reach, with the most precision."""
    negatives: str = "paper"
    """Negatives a positive: all; a number, drawn; or paper, 9 where there would be more than 10."""
    seed: int = 0
    """Seed of the draw of negatives."""
    root: str | None = None
    """Folder of the data, where it is another than the run was trained with."""
    batch: int = 128
    """Images at a time."""
    device: str = "auto"
    """auto, cpu, cuda or mps."""
    json: bool = False
    """Print one JSON object."""


def run(config: DetectorsConfig) -> int:
    """Print the tables; write results/detectors.json and results/thresholds.json; exit status 0."""
    from codednet.experiments import Against, Subject, result
    from codednet.experiments.detectors import EXPERIMENT, store
    from codednet.paths.families import DetectorOptions
    from codednet.paths.strangers import with_roots
    from codednet.runs.folder import open_run

    options = DetectorOptions(
        fit_on=config.fit_on,
        precision=config.precision,
        recall=config.recall,
        negatives=cast("Negatives", int(given) if (given := config.negatives).isdecimal() else given),
        seed=config.seed,
    )
    subject = Subject(
        open_run(config.run),
        baseline=None if config.baseline is None else open_run(config.baseline),
        against=[Against(name=name, root=root) for name, root in with_roots(config.against, config.against_root)],
        root=config.root,
        batch=config.batch,
        device=config.device,
    )
    found = result(EXPERIMENT, subject, options)
    store(subject, found.record)
    for name in found.record.unreadable:
        print(f"left out: {name}", file=sys.stderr)
    if config.json:
        print(json.dumps(found.document))
    else:
        _print(found.record)
        results = subject.folder.results
        print(f"thresholds: {results / 'thresholds.json'}; all numbers: {results / found.file}.json")
    return 0


def _print(found: "Detectors") -> None:
    from rich.console import Console

    from codednet.experiments.detectors import EXTRACTED, TITLES

    console = Console(markup=False)  # names of classes and folders may hold brackets
    console.print(_sentence(found), highlight=False, soft_wrap=True)
    means = {name: family.in_distribution for name, family in found.families.items()}
    console.print(_means("Mean over classes, against images of the other classes", means))
    for name in found.strangers:
        outside = {title: family.out_of_distribution[name] for title, family in found.families.items()}
        console.print(_means(f"Mean over classes, against {name}", outside))
    detectors = sorted(found.families[EXTRACTED].detectors, key=lambda one: one.in_distribution.f1)
    console.print(_classes(detectors[:LISTED], list(found.strangers)))
    if len(detectors) > LISTED:
        console.print(f"and {len(detectors) - LISTED} easier ones; --json lists all.")
    for name, family in found.families.items():
        if family.missed:
            few = f"{len(family.missed)} of {len(family.detectors)} classes"
            console.print(
                f"{TITLES[name]}: {few} stay below precision {found.precision:g} at every threshold.", soft_wrap=True
            )


def _sentence(found: "Detectors") -> str:
    target = "the largest F1"
    for name in ("precision", "recall"):
        if getattr(found, name) is not None:
            target = f"{name} {getattr(found, name):g}"
    strangers = "".join(f" and {count:,} of {name}" for name, count in found.strangers.items())
    return (
        f"Thresholds of {target} on {found.images['fit']:,} images of {found.fit_on}, "
        f"measured on {found.images['test']:,} test images{strangers}."
    )


def _means(title: str, means: "dict[str, Quality]") -> "Table":
    from codednet.experiments.detectors import TITLES

    table = _table(title, ["detectors", "precision", "recall", "F1", "AP"])
    for name, quality in means.items():
        table.add_row(TITLES[name], *_shown(quality))
    return table


def _classes(detectors: "list[Detector]", strangers: Sequence[str]) -> "Table":
    heads = ["class", "threshold", "precision", "recall", "F1", "AP"]
    heads += [f"precision\nagainst\n{name}" for name in strangers]
    table = _table("Extracted networks, hardest first", heads)
    for one in detectors:
        outside = [f"{one.out_of_distribution[name].precision:.1%}" for name in strangers]
        table.add_row(one.label, f"{one.threshold:.3f}", *_shown(one.in_distribution), *outside)
    return table


def _shown(quality: "Quality") -> list[str]:
    return [f"{value:.1%}" for value in (quality.precision, quality.recall, quality.f1, quality.average_precision)]


def _table(title: str, heads: Sequence[str]) -> "Table":
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for index, head in enumerate(heads):
        table.add_column(head, justify="right" if index else "left")
    return table
