"""The codes of the run (appendix A of the paper): words, distances, how evenly branches are used, and what could be."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from codednet.codes import Code
from codednet.experiments.experiment import Experiment, NoOptions, Table
from codednet.experiments.subject import Subject

SHOWN = 20
"""Words and pairs that a record names; it says how many there are."""


@dataclass(frozen=True, kw_only=True)
class Word:
    """Which branches work for a class."""

    label: str
    word: str
    """A 1 for each branch that works for it, a 0 for each that does not."""


@dataclass(frozen=True, kw_only=True)
class CodeRow:
    """One code, and the blocks that obey it."""

    blocks: tuple[str, ...]
    classes: int
    branches: int
    active: int
    min_distance: int
    distance_bound: int
    """Largest smallest distance that the bounds leave possible."""
    pairs_at_min: int
    """Pairs of classes whose words lie at the smallest distance."""
    distances: dict[int, int]
    """Pairs of words by their distance."""
    loads: tuple[int, ...]
    """Classes that each branch works for."""
    spread: int
    """Largest load less the smallest."""
    words: tuple[Word, ...]
    """Of the first classes."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two classes, by name."""

    first: str
    second: str
    distance: int
    """Between their words, summed over the codes."""


@dataclass(frozen=True, kw_only=True)
class CodesRecord:
    """All codes, in order of depth."""

    classes: int
    shown: int
    """Classes whose words are listed."""
    codes: tuple[CodeRow, ...]
    joint_distance: int | None
    """Smallest distance of two classes when the distances of their words are summed over the codes; None of one class.

    It is at least the sum of the codes' own, since different pairs may be close in different codes.
    """
    joint_pairs: int
    """Pairs of classes at it."""
    closest: tuple[Pair, ...]
    """The first of them."""


def measure(subject: Subject, options: NoOptions) -> CodesRecord:
    """What the words of the run's network are; no image is needed."""
    config, names = subject.model.config, subject.names()
    joint = joint_distances(config.codes)
    upper = joint[np.triu_indices(len(joint), 1)]
    smallest = int(upper.min()) if len(upper) else None
    return CodesRecord(
        classes=config.num_classes,
        shown=min(SHOWN, config.num_classes),
        codes=tuple(
            _row(code, tuple(name for name, block in config.coded_blocks() if block.code == index), names)
            for index, code in enumerate(config.codes)
        ),
        joint_distance=smallest,
        joint_pairs=int(np.count_nonzero(upper == smallest)) if len(upper) else 0,
        closest=_closest(joint, smallest, names),
    )


def joint_distances(codes: tuple[Code, ...]) -> NDArray[np.int64]:
    """Distance between the words of each two classes, summed over the codes."""
    total = np.zeros((codes[0].num_classes,) * 2, np.int64)
    for code in codes:
        # Words weigh the same: each branch that two of them do not share is missing from both.
        words = code.words.astype(np.float32)
        total += 2 * (code.active - (words @ words.T).astype(np.int64))
    return total


def _closest(joint: NDArray[np.int64], smallest: int | None, names: tuple[str, ...]) -> tuple[Pair, ...]:
    if smallest is None:
        return ()
    places = np.argwhere(np.triu(joint == smallest, 1))[:SHOWN].tolist()
    return tuple(Pair(first=names[i], second=names[j], distance=smallest) for i, j in places)


def _row(code: Code, blocks: tuple[str, ...], names: tuple[str, ...]) -> CodeRow:
    shown = zip(names[:SHOWN], code.words[:SHOWN], strict=True)
    return CodeRow(
        blocks=blocks,
        classes=code.num_classes,
        branches=code.num_branches,
        active=code.active,
        min_distance=code.min_distance,
        distance_bound=code.distance_bound,
        pairs_at_min=code.pairs_at_min,
        distances=code.distance_counts,
        loads=tuple(code.loads.tolist()),
        spread=code.spread,
        words=tuple(Word(label=name, word="".join(map(str, word.tolist()))) for name, word in shown),
    )


def tables(record: CodesRecord) -> tuple[Table, ...]:
    """A row a code; a row a class with its words; and the classes that are closest."""
    codes = Table(
        name="",
        title="Codes",
        columns=(
            "blocks",
            "words",
            "branches",
            "active",
            "distance",
            "at most",
            "closest pairs",
            "least load",
            "most load",
        ),
        rows=tuple(
            (
                " ".join(one.blocks),
                one.classes,
                one.branches,
                one.active,
                one.min_distance,
                one.distance_bound,
                one.pairs_at_min,
                min(one.loads),
                max(one.loads),
            )
            for one in record.codes
        ),
    )
    few = "" if record.shown == record.classes else f", the first {record.shown} of {record.classes} classes"
    labels = [word.label for word in record.codes[0].words]
    columns = [[word.word for word in one.words] for one in record.codes]
    words = Table(
        name="words",
        title=f"Words{few}",
        columns=("class", *(f"{one.active}/{one.branches} from {one.blocks[0]}" for one in record.codes)),
        rows=tuple(zip(labels, *columns, strict=True)),
    )
    if not record.closest:
        return codes, words
    closest = Table(
        name="closest",
        title=f"Closest classes, all codes together: {record.joint_pairs} pairs at distance {record.joint_distance}",
        columns=("class", "class", "distance"),
        rows=tuple((pair.first, pair.second, pair.distance) for pair in record.closest),
    )
    return codes, words, closest


EXPERIMENT = Experiment(
    name="codes",
    title="Codes",
    version=1,
    record=CodesRecord,
    measure=measure,
    tables=tables,
    needs=frozenset({"coded"}),
)
