"""CSV files that grow by a row at a time, and can be cut back to where a resumed training goes on."""

import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from codednet.atomic import write_whole


class Record:
    """A CSV file of numbers; rows are there for good after `sync`."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path = path
        self.columns = list(columns)
        self._file: TextIO | None = None

    def open(self, keep_below: float = 0, column: str = "step") -> list[dict[str, float]]:
        """Keep the whole rows whose `column` is below a number, drop the rest, and append from here; the kept rows."""
        kept = [row for row in read_rows(self.path) if row[column] < keep_below] if self.path.exists() else []
        write_whole(self.path, lambda file: self._write(file, kept))
        self._file = self.path.open("a", encoding="utf-8", newline="")
        return kept

    def add(self, row: Mapping[str, Any]) -> None:
        """Append a row; a column that it lacks stays empty."""
        assert self._file is not None, "a record is opened before it grows"
        csv.DictWriter(self._file, self.columns, restval="", lineterminator="\n").writerow(row)

    def sync(self) -> None:
        """Bring all rows to the disk."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Bring all rows to the disk and let the file go."""
        if self._file is not None:
            self.sync()
            self._file.close()
            self._file = None

    def _write(self, path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, self.columns, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows({name: _tidy(value) for name, value in row.items()} for row in rows)


def read_rows(path: Path) -> list[dict[str, float]]:
    """Rows of a record; what a killed process left of a last row is passed over, and so are empty cells."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    rows = csv.DictReader(whole)
    return [
        {name: float(value) for name, value in row.items() if value}
        for row in rows
        if None not in row.values()  # a row that was cut off
    ]


def _tidy(value: float) -> float | int:
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else value
