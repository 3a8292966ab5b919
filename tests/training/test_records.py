"""Records grow by rows, survive being cut off, and are cut back to where a training goes on."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from codednet.training.records import Record, read_rows


def test_a_half_written_row_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("step,loss\n0,0.5\n1,0.25\n2,0.1")
    assert read_rows(path) == [{"step": 0, "loss": 0.5}, {"step": 1, "loss": 0.25}]


@given(rows=st.integers(0, 12), kept=st.integers(0, 12))
def test_what_is_kept_and_added_are_all_steps_once(tmp_path_factory, rows: int, kept: int) -> None:
    path = tmp_path_factory.mktemp("record") / "metrics.csv"
    for start, end in ((0, rows), (min(kept, rows), 15)):
        record = Record(path, ["step", "loss"])
        found = record.open(start)
        assert [row["step"] for row in found] == list(range(start))
        for step in range(start, end):
            record.add({"step": step, "loss": 1 / 3})
        record.close()
    assert [row["step"] for row in read_rows(path)] == list(range(15))
    assert all(row["loss"] == 1 / 3 for row in read_rows(path))


def test_an_empty_cell_is_no_number(tmp_path: Path) -> None:
    record = Record(tmp_path / "epochs.csv", ["epoch", "tune/loss"])
    record.open()
    record.add({"epoch": 0})
    record.close()
    assert read_rows(record.path) == [{"epoch": 0}]
