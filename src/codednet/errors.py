"""What a user can cause: every such error is a CodednetError, a ValueError whose message says what to do."""

import difflib
from collections.abc import Iterable


class CodednetError(ValueError):
    """Something the caller asked for cannot be; the message says what must hold, what came and what to do."""


class ImpossibleCodeError(CodednetError):
    """No code with the requested numbers exists, or none is known to the designer."""


class FullDiskError(CodednetError):
    """A file could not be written because its disk is full."""


def nearest_name(name: str, known: Iterable[str]) -> str:
    """A sentence that suggests the known name closest to a mistyped one, or lists them all.

    >>> nearest_name("clases", ["classes", "branches"])
    "did you mean 'classes'?"
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names)}."
