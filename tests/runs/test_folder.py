"""A run's folder before its first step: begun anew where a start was cut off, refused where it holds anything else."""

import shutil
from pathlib import Path

import pytest

from codednet.errors import CodednetError
from codednet.runs import open_run
from codednet.runs.folder import START, new_run


@pytest.mark.parametrize("written", range(4))
def test_a_start_that_was_cut_off_is_begun_anew(finished_run: Path, tmp_path: Path, written: int) -> None:
    run, whole = tmp_path / "run", open_run(finished_run)
    shutil.copytree(finished_run / "codes", run / "codes")
    (run / "codes" / "layer9.0.txt").write_text("10\n01\n")  # of other options
    for name in START[: min(written, 2)]:
        shutil.copy(finished_run / name, run / name)
    if written == 3:
        (run / ".config.yaml.x7").write_text("half of")
    folder = new_run(run)
    network = whole.network()
    assert network is not None
    codes = dict(zip(whole.load_model().coded_blocks, whole.load_model().codes, strict=True))
    folder.write_start(whole.config(), network, {"seed": 0}, codes)
    assert open_run(run).config() == whole.config()
    assert {file.name for file in (run / "codes").iterdir()} == {
        file.name for file in (finished_run / "codes").iterdir()
    }


@pytest.mark.parametrize("name", ["notes.txt", "codes/notes.md", "model/config.json"])
def test_a_folder_of_anything_else_is_refused_and_left(tmp_path: Path, name: str) -> None:
    file = tmp_path / "run" / name
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    with pytest.raises(CodednetError, match="exists and is no empty folder: give another one with -o"):
        new_run(tmp_path / "run")
    assert file.read_text() == "mine"
