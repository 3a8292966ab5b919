"""A full disk stops a training with a sentence, and what it had before is still good."""

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from codednet.atomic import write_whole
from codednet.cli.main import main
from codednet.errors import FullDiskError
from codednet.runs.folder import open_run


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of five megabytes: a checkpoint of this network takes half of it, and a second one does not fit beside."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=5000k", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("no disk may be mounted here")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.slow
def test_a_full_disk_leaves_the_last_checkpoint_readable(small_disk: Path, quick: list[str], capsys) -> None:
    run = small_disk / "run"
    assert main(["train", "fashion-mini", "-o", str(run), *quick]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "the disk is full" in said
    assert f"Make room. Then `codednet train --resume {run}` goes on." in said
    checkpoint = torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)
    assert checkpoint["state_dict"]
    assert [file.name for file in (run / "checkpoints").iterdir()] == ["last.ckpt"]
    # The advice, taken.
    subprocess.run(["mount", "-o", "remount,size=50m", str(small_disk)], check=True)
    assert main(["train", "--resume", str(run)]) == 0
    assert open_run(run).is_finished


@pytest.mark.parametrize(
    "failure", [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))]
)
def test_a_write_that_fails_for_room_leaves_the_file_before(tmp_path: Path, failure: OSError) -> None:
    path = tmp_path / "last.ckpt"
    write_whole(path, lambda file: file.write_text("before"))

    def fail(file: Path) -> None:
        file.write_text("half")
        raise failure

    with pytest.raises(FullDiskError, match=r"the disk is full: .*last.ckpt' could not be written; the one before is"):
        write_whole(path, fail)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_other_failures_stay_what_they_are(tmp_path: Path) -> None:
    def fail(file: Path) -> None:
        raise RuntimeError("something else")

    with pytest.raises(RuntimeError, match="something else"):
        write_whole(tmp_path / "last.ckpt", fail)
    assert not list(tmp_path.iterdir())
