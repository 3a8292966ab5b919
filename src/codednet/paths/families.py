"""Detectors of a run, beside those that they are to be compared with, all on the same images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from codednet.data import Data, EvalLoader
from codednet.data.found import named
from codednet.errors import CodednetError
from codednet.models import CodedResNeXt
from codednet.paths.baseline import check_same_images, load_twin, open_run_data
from codednet.paths.classes import label_of
from codednet.paths.detectors import (
    Detector,
    Negatives,
    check_negatives,
    fit_thresholds,
    mean_quality,
    measure_detectors,
)
from codednet.paths.places import codes_for
from codednet.paths.scoring import Scores, score
from codednet.paths.stored import Thresholds
from codednet.paths.strangers import stranger_loader
from codednet.paths.thresholds import Quality, check_target
from codednet.runs.collect import pick_device
from codednet.runs.folder import RunFolder

FIT_SPLITS = ("tune-fit", "train")
EXTRACTED, WHOLE = "extracted", "whole"
BASELINE_WHOLE, BASELINE_EXTRACTED = "baseline_whole", "baseline_extracted"


@dataclass(frozen=True, kw_only=True)
class DetectorOptions:
    """How detectors are fitted and measured."""

    fit_on: str = "tune-fit"
    """Split that thresholds are fitted on: tune-fit, or train, as in the paper."""
    precision: float | None = None
    """Precision that thresholds are to reach, with the most recall; the largest F1 with neither."""
    recall: float | None = None
    """Recall that thresholds are to reach, with the most precision."""
    negatives: Negatives = "paper"
    seed: int = 0
    """Seed of the negatives that are drawn."""
    against: str | None = None
    """Images of no class: another data set, or a folder of images."""
    against_root: str | None = None
    root: str | None = None
    """Folder of the data, where it is another than the run was trained with."""
    batch: int = 128
    device: str = "auto"

    def __post_init__(self) -> None:
        check_target(self.precision, self.recall)
        check_negatives(self.negatives)
        if self.fit_on not in FIT_SPLITS:
            raise CodednetError(f"thresholds are fitted on {' or '.join(FIT_SPLITS)}; got {self.fit_on!r}.")
        if self.against is None and self.against_root is not None:
            raise CodednetError("--against-root is the folder of the data set that --against names: give both.")


@dataclass(frozen=True, kw_only=True)
class Family:
    """Detectors of all classes that score images in one way."""

    detectors: tuple[Detector, ...]
    in_distribution: Quality
    """Mean over the detectors, against images of the other classes."""
    out_of_distribution: Quality | None
    """Mean over the detectors, against images of no class."""
    missed: tuple[str, ...]
    """Classes that no threshold brings to the precision asked for; they have the one of the highest."""


@dataclass(frozen=True, kw_only=True)
class RunDetectors:
    """What `codednet detectors` says of a run."""

    run: str
    baseline: str | None
    against: str | None
    fit_on: str
    precision: float | None
    recall: float | None
    negatives: Negatives
    seed: int
    images: Mapping[str, int]
    """Images by what they were for: fit, test, against."""
    unreadable: tuple[str, ...]
    """Images that were left out."""
    families: Mapping[str, Family]
    """Of `extracted` networks and of the `whole` network's own logits; and of the plain twin's own logits,
    `baseline_whole`, and of what is cut out of the twin along the same words, `baseline_extracted`."""
    thresholds: Thresholds
    """Of the extracted networks."""


def measure_run_detectors(
    folder: RunFolder, options: DetectorOptions | None = None, baseline: RunFolder | None = None
) -> RunDetectors:
    """Detectors of all classes, their thresholds fitted on one split and measured on the test split.

    The baseline is a run of the plain twin on the same splits. Nothing is written.
    """
    options = options or DetectorOptions()
    model = folder.load_model()
    if not model.codes:
        raise CodednetError(
            f"no block of the network of '{folder.path}' is coded, so it has no class paths: "
            "give a coded run, and this one as its --baseline."
        )
    twin = None if baseline is None else load_twin(folder, model, baseline)
    data = open_run_data(folder, model, options.root)
    _check_fit(folder, data, options.fit_on)
    device = pick_device(options.device)
    scores = score(model, _loaders(data, model, options), device)
    tables = {
        EXTRACTED: {split: found.paths for split, found in scores.items()},
        WHOLE: {split: found.logits for split, found in scores.items()},
    }
    if baseline is not None and twin is not None:
        loaders = _loaders(open_run_data(baseline, twin, options.root), twin, options)
        others = score(twin, loaders, device, codes_for(twin, model))
        check_same_images(baseline, scores, others)
        tables[BASELINE_WHOLE] = {split: found.logits for split, found in others.items()}
        tables[BASELINE_EXTRACTED] = {split: found.paths for split, found in others.items()}
    families = {name: _family(name, table, scores, model, options) for name, table in tables.items()}
    return RunDetectors(
        run=str(folder.path),
        baseline=None if baseline is None else str(baseline.path),
        against=options.against,
        fit_on=options.fit_on,
        precision=options.precision,
        recall=options.recall,
        negatives=options.negatives,
        seed=options.seed,
        images={split: len(found.labels) for split, found in scores.items()},
        unreadable=tuple(name for found in scores.values() for name in found.unreadable),
        families=families,
        thresholds=_thresholds(folder, options, families[EXTRACTED]),
    )


def _check_fit(folder: RunFolder, data: Data, fit_on: str) -> None:
    """Refuse to fit on what is not there."""
    advice = "Fit on the training images instead, as the paper did: --fit-on train."
    if fit_on != "train" and not data.config.has_tune:
        raise CodednetError(f"'{folder.path}' has no tune split to fit thresholds on. {advice}")
    counts = np.bincount(data.labels(fit_on), minlength=len(data.classes))
    missing = [name for name, count in zip(data.classes, counts, strict=True) if not count]
    if missing:
        raise CodednetError(
            f"every threshold needs images of its class; {fit_on} has none of {named(missing)}. {advice}"
        )


def _loaders(data: Data, model: CodedResNeXt, options: DetectorOptions) -> dict[str, EvalLoader]:
    """Images to fit on, to test on and, if any, of no class, as this network is to see them."""
    loaders = {
        "fit": data.eval_loader(options.fit_on, options.batch),
        "test": data.eval_loader("test", options.batch),
    }
    if options.against is not None:
        loaders["against"] = stranger_loader(options.against, options.against_root, data.config, model, options.batch)
    return loaders


def _family(
    name: str, table: Mapping[str, Any], scores: Mapping[str, Scores], model: CodedResNeXt, options: DetectorOptions
) -> Family:
    names = [label_of(model.config, index) for index in range(model.num_classes)]
    draws: dict[str, Any] = {"negatives": options.negatives, "seed": options.seed, "names": names}
    thresholds = fit_thresholds(
        table["fit"],
        scores["fit"].labels,
        precision=options.precision,
        recall=options.recall,
        # What is only compared with may miss the target.
        nearest=name != EXTRACTED,
        **draws,
    )
    detectors = measure_detectors(
        table["test"], scores["test"].labels, thresholds, out_of_distribution=table.get("against"), **draws
    )
    outside = [one.out_of_distribution for one in detectors if one.out_of_distribution is not None]
    return Family(
        detectors=detectors,
        in_distribution=mean_quality([one.in_distribution for one in detectors]),
        out_of_distribution=mean_quality(outside) if outside else None,
        missed=_missed(measure_detectors(table["fit"], scores["fit"].labels, thresholds, **draws), options.precision),
    )


def _missed(fitted: Sequence[Detector], precision: float | None) -> tuple[str, ...]:
    return tuple(one.label for one in fitted if precision is not None and one.in_distribution.precision < precision)


def _thresholds(folder: RunFolder, options: DetectorOptions, family: Family) -> Thresholds:
    return Thresholds(
        weights=folder.weights_digest(),
        fit_on=options.fit_on,
        precision=options.precision,
        recall=options.recall,
        negatives=options.negatives,
        seed=options.seed,
        classes=tuple(one.label for one in family.detectors),
        thresholds=tuple(one.threshold for one in family.detectors),
    )
