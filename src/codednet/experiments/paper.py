"""The paper's own numbers, by experiment, as it prints them: to stand beside a run's, never to be mistaken for them.

Avranas and Kountouris, "Towards Disentangling Information Paths with Coded ResNeXt", NeurIPS 2022. What it shows in
figures alone (2 to 4, and those of the appendix) has no numbers here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from codednet.experiments import agreement, calibration
from codednet.experiments.experiment import Table

Unit: TypeAlias = Literal["%", "million", "GFLOPs", "images a second", "GB", ""]
Row: TypeAlias = tuple[str, str, float]
"""What, on which data set, and how much."""

CIFAR10, CIFAR100, IMAGENET = "CIFAR-10", "CIFAR-100", "ImageNet"


@dataclass(frozen=True, kw_only=True)
class PaperNumber:
    """One number of the paper."""

    experiment: str
    """Name of the experiment that asks the same of a run."""
    what: str
    data: str
    """Data set that it was measured on."""
    value: float
    """As it is printed."""
    unit: Unit
    where: str
    """Table or section of the paper."""
    ours: str | None
    """JSON pointer of the same number in a run's record; None where only a run of the paper's shape has one."""


def paper_numbers(experiment: str) -> tuple[PaperNumber, ...]:
    """What the paper says of the same question; nothing where it prints no number."""
    return tuple(number for number in PAPER if number.experiment == experiment)


def paper_table(experiment: str) -> Table | None:
    """The same as a table; None where there is none."""
    rows = tuple((one.what, one.data, one.value, one.unit, one.where) for one in paper_numbers(experiment))
    if not rows:
        return None
    return Table(
        name="paper",
        title="The paper's own numbers, on its own data sets",
        columns=("what", "data set", "the paper's", "unit", "where"),
        rows=rows,
    )


def _numbers(
    experiment: str, where: str, unit: Unit, *rows: Row, ours: dict[str, str] | None = None
) -> Iterator[PaperNumber]:
    """Numbers of one place; `ours` has pointers by what the number says."""
    for what, data, value in rows:
        yield PaperNumber(
            experiment=experiment,
            what=what,
            data=data,
            value=value,
            unit=unit,
            where=where,
            ours=(ours or {}).get(what),
        )


def _architecture() -> Iterator[PaperNumber]:
    both = f"{CIFAR10} and {CIFAR100}"
    yield from _numbers(
        "architecture",
        "table 1",
        "million",
        ("parameters of stage 1", both, 0.2),
        ("parameters of stage 2", both, 0.9),
        ("parameters of stage 3", both, 3.5),
        ("parameters", both, 4.7),
        ("parameters of stage 1", IMAGENET, 0.2),
        ("parameters of stage 2", IMAGENET, 1.2),
        ("parameters of stage 3", IMAGENET, 7.0),
        ("parameters of stage 4", IMAGENET, 14.5),
        ("parameters", IMAGENET, 25.0),
        ours={f"parameters of stage {index}": f"/parameters_by_stage/layer{index}" for index in range(1, 5)}
        | {"parameters": "/parameters"},
    )
    share = "share of the parameters that the network of one class has, its 1x1 shortcuts cut too"
    yield from _numbers(
        "architecture",
        "section 4.3",
        "%",
        (share, CIFAR10, 38),
        (share, CIFAR100, 27),
        (share, IMAGENET, 35),
        ours={share: "/class_path/share_shortcuts_cut"},
    )


def _accuracy() -> Iterator[PaperNumber]:
    yield from _numbers(
        "accuracy",
        "table 2",
        "%",
        ("accuracy, coded (mu 6, p_drop 0.1)", CIFAR10, 94.41),
        ("accuracy, plain", CIFAR10, 93.66),
        ("accuracy, coded (mu 6, p_drop 0.1)", CIFAR100, 78.76),
        ("accuracy, plain", CIFAR100, 76.86),
        ("accuracy, coded (mu 2, p_drop 0.1), mean of three runs", IMAGENET, 80.24),
        ("accuracy, plain", IMAGENET, 79.50),
        ours={
            "accuracy, coded (mu 6, p_drop 0.1)": "/accuracy/mean",
            "accuracy, coded (mu 2, p_drop 0.1), mean of three runs": "/accuracy/mean",
            "accuracy, plain": "/twin/accuracy/mean",
        },
    )
    runs = (("accuracy of one of the three runs", IMAGENET, value) for value in (80.21, 80.25, 80.26))
    yield from _numbers("accuracy", "table 2", "%", *runs)
    yield from _numbers("accuracy", "section 4.1, as timm reports it", "%", ("accuracy, plain", IMAGENET, 79.77))


def _codes() -> Iterator[PaperNumber]:
    yield from _numbers(
        "codes",
        "appendix A",
        "",
        ("smallest distance at 5/10", CIFAR10, 4),
        ("smallest distance at 3/10", CIFAR10, 4),
        ("smallest distance at 8/20", CIFAR100, 8),
        ("smallest distance at 4/20", CIFAR100, 4),
        ("smallest distance at 16/32", IMAGENET, 10),
        ("least classes of a branch at 16/32", IMAGENET, 499),
        ("most classes of a branch at 16/32", IMAGENET, 501),
        ("smallest distance at 8/32", IMAGENET, 6),
        ("least classes of a branch at 8/32", IMAGENET, 249),
        ("most classes of a branch at 8/32", IMAGENET, 251),
    )


def _detectors() -> Iterator[PaperNumber]:
    families = {
        "networks cut out": "extracted",
        "cut out of the plain twin": "baseline_extracted",
        "plain twin's own logits": "baseline_whole",
    }
    measures = ("precision", "recall", "F1")
    yield from _numbers(
        "detectors",
        "section 4.3, means over the classes",
        "%",
        ("networks cut out: precision", CIFAR10, 93),
        ("networks cut out: recall", CIFAR10, 77),
        ("networks cut out: F1", CIFAR10, 84),
        ("cut out of the plain twin: precision", CIFAR10, 13),
        ("cut out of the plain twin: recall", CIFAR10, 56),
        ("plain twin's own logits: precision", CIFAR10, 79),
        ("plain twin's own logits: recall", CIFAR10, 94),
        ("plain twin's own logits: F1", CIFAR10, 86),
        ours={
            f"{said}: {measure}": f"/families/{family}/in_distribution/{measure.lower()}"
            for said, family in families.items()
            for measure in measures
        },
    )


def _early() -> Iterator[PaperNumber]:
    by_mu = {
        2: (2.38, 8.12, 12.7, 12.8, 14.0, 17.0, 26.5, 65.1, 73.4),
        4: (4.6, 22.0, 32.0, 37.3, 40.0, 43.8, 55.6, 72.5, 75.7),
    }
    for mu, accuracies in by_mu.items():
        rows = (
            (f"accuracy of early decoder {depth} of 9, mu {mu}", IMAGENET, value)
            for depth, value in enumerate(accuracies, start=1)
        )
        yield from _numbers("early", "appendix B", "%", *rows)


def _agreement() -> Iterator[PaperNumber]:
    for data, values in agreement.PAPER.items():
        said = [f"accuracy where {count} early decoders agree" for count in range(len(values) - 1)]
        said.append(f"accuracy where {len(values) - 1} or more early decoders agree")
        rows = ((what, data, value) for what, value in zip(said, values, strict=True))
        ours = {what: f"/rows/{count}/accuracy" for count, what in enumerate(said[:-1])}
        yield from _numbers("agreement", "table 3", "%", *rows, ours=ours)


def _calibration() -> Iterator[PaperNumber]:
    for share, by_data in calibration.PAPER.items():
        for data, by_method in by_data.items():
            for method, errors in by_method.items():
                rows = (
                    (f"{error} of {method}, fitted on {share:.0%}", data, value)
                    for error, value in zip(("ECE", "MCE"), errors, strict=True)
                )
                yield from _numbers("calibration", "table 6", "%", *rows)


def _cost() -> Iterator[PaperNumber]:
    yield from _numbers(
        "cost",
        "table 5",
        "GFLOPs",
        ("a pass over an image, plain", IMAGENET, 2.196),
        ("a pass over an image, coded", IMAGENET, 2.269),
    )
    yield from _numbers(
        "cost", "table 5", "million", ("parameters, plain", IMAGENET, 25.0), ("parameters, coded", IMAGENET, 25.0)
    )
    yield from _numbers(
        "cost",
        "table 5, on a TPU v2",
        "images a second",
        ("training, plain", IMAGENET, 378),
        ("training, coded", IMAGENET, 375),
    )
    yield from _numbers(
        "cost",
        "table 5, on a TPU v2",
        "GB",
        ("memory in training, plain", IMAGENET, 12.3),
        ("memory in training, coded", IMAGENET, 12.7),
    )


def _ablations() -> Iterator[PaperNumber]:
    yield from _numbers(
        "ablations",
        "section 3.1",
        "%",
        ("accuracy, exponent 4", CIFAR10, 94.4),
        ("accuracy, exponent 2", CIFAR10, 93.1),
        ("accuracy, exponent 1", CIFAR10, 87.1),
    )
    yield from _numbers(
        "ablations",
        "section 3.2",
        "%",
        ("accuracy, rates 20/20, 8/20, 4/20", CIFAR100, 78.8),
        ("accuracy, rates 8/20, 8/20, 8/20", CIFAR100, 77.9),
        ("accuracy, rates 4/20, 8/20, 20/20", CIFAR100, 76.7),
    )
    yield from _numbers(
        "ablations",
        "appendix B",
        "%",
        ("accuracy, mu 2", IMAGENET, 80.24),
        ("accuracy, mu 4", IMAGENET, 79.81),
    )
    short = "150 epochs, mu 1, no random erasing"
    yield from _numbers(
        "ablations",
        "appendix E",
        "%",
        (f"accuracy, rates 32/32, 16/32, 8/32; {short}", IMAGENET, 78.1),
        (f"accuracy, rates 16/32, 8/32, 4/32; {short}", IMAGENET, 76.6),
    )


PAPER: tuple[PaperNumber, ...] = (
    *_accuracy(),
    *_architecture(),
    *_codes(),
    *_early(),
    *_agreement(),
    *_detectors(),
    *_calibration(),
    *_cost(),
    *_ablations(),
)
