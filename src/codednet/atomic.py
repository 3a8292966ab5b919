"""Files that are there whole or not at all."""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from codednet.errors import FullDiskError

# Writers that do not pass on why they failed leave less room than this on a full disk.
NO_ROOM = 1 << 20


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Let `write` fill a file under another name, sync it to the disk, and only then give it its name."""
    with named_if_full(path):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        temporary = Path(name)
        try:
            with named_if_full(path):  # before the room that the file took is given back
                write(temporary)
                temporary.chmod(0o666 & ~_umask())
                _sync(temporary)
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    with suppress(OSError):  # some systems sync no folders
        _sync(path.parent)


@contextmanager
def named_if_full(path: Path) -> Iterator[None]:
    """What fails within because the disk is full says so, and which file it was."""
    try:
        yield
    except FullDiskError:
        raise
    except Exception as error:
        full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
        if not full and (getattr(error, "errno", None) or shutil.disk_usage(path.parent).free > NO_ROOM):
            raise
        before = "; the one before is still good" if path.exists() else ""
        raise FullDiskError(f"the disk is full: '{path}' could not be written{before}. Make room.") from error


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
