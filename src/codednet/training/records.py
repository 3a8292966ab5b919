"""CSV files that grow by a row at a time, and can be cut back to where a resumed training goes on."""

import csv
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from codednet.atomic import named_if_full, write_whole


class Record:
    """A CSV file of numbers; rows are there for good after `sync`."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path = path
        self.columns = list(columns)
        self._file: TextIO | None = None

    def open(self, keep_below: float = 0, column: str = "step") -> list[dict[str, float]]:
        """Keep the whole rows whose `column` is below a number, drop the rest, and append from here; the kept rows."""
        lines = whole_lines(self.path) if self.path.exists() else []
        parsed = zip(lines[1:], parse_rows(lines), strict=True)
        kept = [(line, row) for line, row in parsed if row[column] < keep_below]
        text = ",".join(self.columns) + "\n" + "".join(line for line, _ in kept)
        write_whole(self.path, lambda file: file.write_text(text, encoding="utf-8"))
        self._file = self.path.open("a", encoding="utf-8", newline="")
        return [row for _, row in kept]

    def add(self, row: Mapping[str, Any]) -> None:
        """Append a row; a column that it lacks stays empty."""
        assert self._file is not None, "a record is opened before it grows"
        csv.DictWriter(self._file, self.columns, restval="", lineterminator="\n").writerow(row)

    def sync(self) -> None:
        """Bring all rows to the disk."""
        if self._file is not None:
            with named_if_full(self.path):
                self._file.flush()
                os.fsync(self._file.fileno())

    def close(self) -> None:
        """Bring all rows to the disk and let the file go."""
        try:
            self.sync()
        finally:
            if self._file is not None:
                file, self._file = self._file, None
                with suppress(OSError):  # of a full disk, which was said
                    file.close()


def read_rows(path: Path) -> list[dict[str, float]]:
    """Rows of a record; what a killed process left of a last row is passed over, and so are empty cells."""
    return parse_rows(whole_lines(path))


def whole_lines(path: Path) -> list[str]:
    """Lines of a file that end."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [line for line in lines if line.endswith("\n")]


def parse_rows(lines: Sequence[str]) -> list[dict[str, float]]:
    """Numbers of lines, the first of which names them."""
    return [{name: float(value) for name, value in row.items() if value} for row in csv.DictReader(lines)]
