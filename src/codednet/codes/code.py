"""Code: which branches may work for which class, an immutable table of constant-weight words."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codednet.codes import bits
from codednet.codes.bounds import distance_bound
from codednet.codes.text import format_words, parse_words
from codednet.errors import CodednetError


@dataclass(frozen=True, eq=False, repr=False)
class Code:
    """A table of distinct binary words of one weight, a word a class; immutable and validated.

    Spare words are kept for classes added later. They keep the rules of the code (same weight, all words distinct),
    and everything else here, decoding included, ignores them.

    >>> code = Code([[1, 1, 0, 0], [0, 0, 1, 1]])
    >>> code.min_distance, code.spread, code.is_optimal
    (4, 0, True)
    """

    words: NDArray[np.uint8]
    spare: NDArray[np.uint8]

    def __init__(self, words: ArrayLike, spare: ArrayLike | None = None) -> None:
        table = _table(words, "words")
        kept = _table(spare, "spare words") if spare is not None and len(np.asarray(spare)) else table[:0].copy()
        if kept.shape[1] != table.shape[1]:
            raise CodednetError(
                f"spare words must be as long as the words: {table.shape[1]} branches, got {kept.shape[1]}."
            )
        _check(np.concatenate([table, kept]))
        for array in (table, kept):
            array.flags.writeable = False
        object.__setattr__(self, "words", table)
        object.__setattr__(self, "spare", kept)

    @property
    def num_classes(self) -> int:
        """Number of words, spare ones not counted."""
        return len(self.words)

    @property
    def num_branches(self) -> int:
        """Length of a word."""
        return int(self.words.shape[1])

    @cached_property
    def active(self) -> int:
        """Ones in every word: branches that work for a class."""
        return int(self.words[0].sum())

    @property
    def rate(self) -> float:
        """Active / branches: the share of the block that a class uses."""
        return self.active / self.num_branches

    @property
    def min_distance(self) -> int:
        """Smallest Hamming distance between two words; 2 * active for one word alone."""
        return self._closest[0]

    @property
    def pairs_at_min(self) -> int:
        """Number of pairs of words at the smallest distance."""
        return self._closest[1]

    @cached_property
    def distance_bound(self) -> int:
        """Largest min_distance that the Johnson bound leaves possible for as many words."""
        return distance_bound(self.num_classes, self.num_branches, self.active)

    @property
    def is_optimal(self) -> bool:
        """Whether min_distance is proven to be as large as it can be."""
        return self.min_distance == self.distance_bound

    @cached_property
    def loads(self) -> NDArray[np.int64]:
        """Number of classes that each branch works for."""
        loads: NDArray[np.int64] = self.words.sum(axis=0, dtype=np.int64)
        loads.flags.writeable = False
        return loads

    @property
    def spread(self) -> int:
        """Largest load minus smallest load; 0 or 1 is as even as can be."""
        return int(self.loads.max() - self.loads.min())

    @cached_property
    def distance_counts(self) -> dict[int, int]:
        """Number of pairs of words at each distance that occurs."""
        counts = np.zeros(self.num_branches + 1, dtype=np.int64)
        for distances in bits.pair_distances(self._packed):
            counts += np.bincount(distances, minlength=len(counts))
        return {int(d): int(counts[d]) for d in np.flatnonzero(counts)}

    def nearest(self, vectors: ArrayLike) -> NDArray[np.int64]:
        """Class whose word is nearest in L2 to each vector; ties go to the lowest class."""
        table = np.asarray(vectors, dtype=np.float64)
        if table.shape[-1:] != (self.num_branches,):
            raise CodednetError(
                f"vectors to decode must have {self.num_branches} entries, one a branch, got shape {table.shape}."
            )
        # Words weigh the same, so the nearest is the one with the largest inner product.
        return np.asarray((table @ self.words.T.astype(np.float64)).argmax(axis=-1))

    def reordered(self, classes: Sequence[int] | NDArray[np.integer]) -> "Code":
        """The same words in another order: class i gets the word of class `classes[i]`."""
        order = np.asarray(classes)
        if sorted(order.tolist()) != list(range(self.num_classes)):
            raise CodednetError(
                f"an order of classes must name each of 0..{self.num_classes - 1} once, got {_short(order)}."
            )
        return Code(self.words[order], self.spare)

    def save(self, path: str | Path) -> None:
        """Write as text, one word of 0s and 1s a line; spare words are marked."""
        Path(path).write_text(format_words(self.words, self.spare), encoding="ascii")

    @classmethod
    def load(cls, path: str | Path) -> "Code":
        """Read what `save` wrote; what is wrong is named by line and column."""
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except OSError as error:
            raise CodednetError(f"no code can be read from '{path}': {error.strerror or error}.") from None
        except UnicodeDecodeError as error:
            raise CodednetError(f"'{path}' is no text file of 0s and 1s: byte {error.start} is no UTF-8.") from None
        words, spare = parse_words(text, str(path))
        try:
            return cls(words, spare)
        except CodednetError as error:
            raise CodednetError(f"{path}: {error}") from None

    @cached_property
    def _packed(self) -> bits.Packed:
        return bits.pack(self.words)

    @cached_property
    def _closest(self) -> tuple[int, int]:
        if self.num_classes == 1:
            return 2 * self.active, 0
        return bits.closest_pairs(self._packed)

    def __len__(self) -> int:
        return self.num_classes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Code):
            return NotImplemented
        return np.array_equal(self.words, other.words) and np.array_equal(self.spare, other.spare)

    def __hash__(self) -> int:
        return hash((self.words.shape, self.words.tobytes(), self.spare.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Code, (np.array(self.words), np.array(self.spare))

    def __repr__(self) -> str:
        spare = f", spare={len(self.spare)}" if len(self.spare) else ""
        return f"Code(classes={self.num_classes}, branches={self.num_branches}, active={self.active}{spare})"


def _table(words: ArrayLike, what: str) -> NDArray[np.uint8]:
    try:
        table = np.array(words)
    except ValueError:
        raise CodednetError(f"{what} must all be of one length; got rows of several lengths.") from None
    if table.ndim != 2 or 0 in table.shape:
        raise CodednetError(f"{what} must be a table (classes, branches), not empty; got shape {table.shape}.")
    if not np.isin(table, (0, 1)).all():
        row, column = np.argwhere(~np.isin(table, (0, 1)))[0]
        raise CodednetError(f"{what} hold 0s and 1s alone; row {row}, column {column} is {table[row, column]}.")
    return np.ascontiguousarray(table, dtype=np.uint8)


def _check(table: NDArray[np.uint8]) -> None:
    weights = table.sum(axis=1, dtype=np.int64)
    if weights[0] == 0:
        raise CodednetError("word 0 has no 1: a class needs at least one active branch.")
    if (weights != weights[0]).any():
        row = int(np.flatnonzero(weights != weights[0])[0])
        raise CodednetError(
            "all words of a code must have the same number of 1s: "
            f"word 0 has {weights[0]}, word {row} has {weights[row]}."
        )
    _, first, inverse = np.unique(bits.pack(table), axis=0, return_index=True, return_inverse=True)
    if len(first) < len(table):
        row = int(np.flatnonzero(first[inverse.ravel()] != np.arange(len(table)))[0])
        twin = int(first[inverse.ravel()[row]])
        raise CodednetError(f"words {twin} and {row} are the same: a code with repeated words cannot be decoded.")


def _short(values: NDArray[Any]) -> str:
    return np.array2string(values, threshold=12, edgeitems=4, separator=", ")
