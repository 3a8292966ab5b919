"""Codes that need no search: those shipped with the package, and those designed before on this machine."""

import os
import tempfile
from importlib import resources
from pathlib import Path

from codednet.codes.code import Code
from codednet.codes.design import design_code

_CACHE_VERSION = "1"  # raised when the designer finds other codes for the same numbers


def find_code(classes: int, branches: int, active: int) -> Code:
    """The code of that size: shipped with the package, or designed once (seed 0) and kept in the user's cache.

    The cache folder is `$CODEDNET_CACHE`, else `codednet` in the user's cache folder. A cache that cannot be written
    is no error.
    """
    shipped = shipped_code(classes, branches, active)
    if shipped is not None:
        return shipped
    kept = cache_folder() / "codes" / _CACHE_VERSION / _file_name(classes, branches, active)
    if kept.is_file():
        return Code.load(kept)
    code = design_code(classes, branches, active)
    _keep(code, kept)
    return code


def shipped_code(classes: int, branches: int, active: int) -> Code | None:
    """The code of that size that is part of the package, or None.

    >>> shipped_code(1000, 32, 16).min_distance
    12
    """
    file = resources.files("codednet.codes") / "data" / _file_name(classes, branches, active)
    if not file.is_file():
        return None
    with resources.as_file(file) as path:
        return Code.load(path)


def shipped_sizes() -> list[tuple[int, int, int]]:
    """(classes, branches, active) of every code that is part of the package."""
    names = [file.name for file in (resources.files("codednet.codes") / "data").iterdir() if file.name.endswith(".txt")]
    return sorted(tuple(int(part) for part in name[: -len(".txt")].split("-")) for name in names)  # type: ignore[misc]


def cache_folder() -> Path:
    """Where this user's codednet keeps what it made once."""
    if own := os.environ.get("CODEDNET_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "codednet"


def _file_name(classes: int, branches: int, active: int) -> str:
    return f"{classes}-{branches}-{active}.txt"


def _keep(code: Code, path: Path) -> None:
    """Save under a temporary name, then rename, so that another process never reads half a file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        os.close(handle)
        code.save(name)
        Path(name).replace(path)
    except OSError:
        return
