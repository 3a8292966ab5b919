"""What detectors say of images of their class, of other classes and of none (figure 3, and the grid of ten classes)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codednet.errors import CodednetError
from codednet.experiments.experiment import Experiment, Table
from codednet.experiments.subject import Subject
from codednet.paths.detectors import fit_thresholds
from codednet.paths.families import Sampling, check_fit_on, fit_split

Array = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Which detectors, and how fine the histograms are."""

    classes: int = 10
    """Classes, from the first on."""
    bins: int = 60
    fit_on: str = "auto"
    """Split that the thresholds of the largest F1 are fitted on, as in the detectors' options."""

    def __post_init__(self) -> None:
        check_fit_on(self.fit_on)
        if self.classes < 1 or self.bins < 1:
            raise CodednetError(
                f"there must be at least one class and one bin; got classes={self.classes}, bins={self.bins}."
            )


@dataclass(frozen=True, kw_only=True)
class ClassOutputs:
    """Counts of one detector's outputs, by bin; each adds up to the number of its images."""

    label: str
    threshold: float
    """Least output that is a yes: the largest F1 on the split that it was fitted on."""
    positives: tuple[int, ...]
    """Test images of the class."""
    negatives: tuple[int, ...]
    """Test images of all other classes."""
    strangers: Mapping[str, tuple[int, ...]]
    """Images of no class, by the name that they were given with."""


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Histograms of the outputs of the first classes' extracted networks, on the same bins."""

    fit_on: str
    num_classes: int
    """Classes of the network, of which the first are shown."""
    edges: tuple[float, ...]
    """Of the bins, rising: one more than there are bins; the last bin holds its upper edge."""
    classes: tuple[ClassOutputs, ...]


def measure(subject: Subject, options: OutputOptions) -> Outputs:
    """Histograms over the test split and over each set of strangers."""
    fit_on = fit_split(subject.data, options.fit_on)
    sampling = Sampling(whole=max(options.classes, Sampling().whole))
    fit, test = subject.scores(fit_on, sampling), subject.scores("test", sampling)
    strangers = {one.name: subject.scores(f"against:{one.name}", sampling).paths for one in subject.against}
    thresholds = fit_thresholds(fit.paths, fit.labels, names=subject.names())
    count = min(options.classes, test.paths.shape[1])
    edges = shared_edges([table[:, :count] for table in (test.paths, *strangers.values())], options.bins)
    shown = []
    for index, label in enumerate(subject.names()[:count]):
        own = test.labels == index
        shown.append(
            ClassOutputs(
                label=label,
                threshold=float(thresholds[index]),
                positives=counts(test.paths[own, index], edges),
                negatives=counts(test.paths[~own, index], edges),
                strangers={name: counts(table[:, index], edges) for name, table in strangers.items()},
            )
        )
    return Outputs(fit_on=fit_on, num_classes=test.paths.shape[1], edges=tuple(edges.tolist()), classes=tuple(shown))


def shared_edges(tables: list[Array], bins: int) -> NDArray[np.float64]:
    """Edges of bins of one width that hold every output."""
    low, high = min(float(table.min()) for table in tables), max(float(table.max()) for table in tables)
    return np.histogram_bin_edges(np.empty(0), bins, (low, high))


def counts(outputs: Array, edges: NDArray[np.float64]) -> tuple[int, ...]:
    """How many outputs are in each bin."""
    return tuple(np.histogram(outputs.astype(np.float64), edges)[0].tolist())


def tables(record: Outputs) -> tuple[Table, ...]:
    """A row for each class, kind of images and bin that holds some; and the thresholds."""
    return (
        Table(
            name="",
            title="Outputs of the extracted networks: images in each bin that has some",
            columns=("class", "images", "from", "to", "count"),
            rows=tuple(
                (one.label, kind, record.edges[place], record.edges[place + 1], count)
                for one in record.classes
                for kind, histogram in histograms(one)
                for place, count in enumerate(histogram)
                if count
            ),
        ),
        Table(
            name="thresholds",
            title="Thresholds",
            columns=("class", "threshold"),
            rows=tuple((one.label, one.threshold) for one in record.classes),
        ),
    )


def histograms(one: ClassOutputs) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Counts of each kind of images, and what they are called."""
    yield "of the class", one.positives
    yield "of other classes", one.negatives
    yield from one.strangers.items()


EXPERIMENT = Experiment(
    name="outputs",
    title="Outputs of detectors",
    version=1,
    record=Outputs,
    measure=measure,
    tables=tables,
    options=OutputOptions,
    needs=frozenset({"coded"}),
    uses=frozenset({"against"}),
)
