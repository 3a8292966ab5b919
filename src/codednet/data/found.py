"""What the opening of a data set finds: its images, and which are for the test; and whether its classes will do."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codednet.data.source import Source
from codednet.errors import CodednetError


class Found(NamedTuple):
    """All images of a data set, and the places of those to train on and to test on; None where nothing says so."""

    source: Source
    train: NDArray[np.int64]
    test: NDArray[np.int64] | None


def check_classes(classes: Sequence[str], where: str) -> None:
    """Refuse fewer than two classes."""
    if len(classes) < 2:
        found = f"only {classes[0]!r}" if classes else "none"
        raise CodednetError(f"a classifier needs two classes or more in {where}; there is {found}.")


def named(names: Sequence[str]) -> str:
    """Up to five of the names.

    >>> named(["a", "b", "c", "d", "e", "f", "g"])
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    shown = ", ".join(repr(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"
