"""A training that is killed goes on as if it had never been: the same steps, the same losses, bit for bit."""

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from codednet.cli.main import main
from codednet.runs.folder import open_run
from codednet.training.records import read_rows

# Checkpoints every tenth of a second or so: several within an epoch.
OPTIONS = ["--optim.ema=0.9", "--optim.epochs=6", "--data.mixup=0.2", "--machine.checkpoint-minutes=0.001"]


def start(*arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "codednet.cli.main", "train", *arguments]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, **environment}
    )


def finish(process: subprocess.Popen[bytes]) -> None:
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors.decode()


def steps_in(path: Path) -> int:
    return len(read_rows(path)) if path.exists() else 0


def kill_after(steps: int, process: subprocess.Popen[bytes], run: Path, how: signal.Signals) -> None:
    """Kill the process once it has a checkpoint later than the first, and that many more steps than that had."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        if steps_in(run / "metrics.csv") >= steps:
            break
        assert process.poll() is None, process.stderr.read().decode()
        time.sleep(0.02)
    process.send_signal(how)
    process.communicate(timeout=60)
    assert process.returncode != 0


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, quick: list[str]) -> Path:
    run = tmp_path_factory.mktemp("whole") / "run"
    finish(start("fashion-mini", "--output", str(run), *quick, *OPTIONS))
    return run


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_killed_run_goes_on_bit_for_bit(whole: Path, tmp_path: Path, quick: list[str], how: signal.Signals) -> None:
    killed = tmp_path / "killed"
    # An epoch has 10 steps, so 13 steps are in the middle of the second.
    kill_after(13, start("fashion-mini", "--output", str(killed), *quick, *OPTIONS), killed, how)
    step = torch.load(killed / "checkpoints" / "last.ckpt", weights_only=True)["global_step"]
    assert 0 < step < 60
    finish(start("--resume", str(killed)))
    assert (killed / "metrics.csv").read_text() == (whole / "metrics.csv").read_text()
    assert deterministic(killed / "epochs.csv") == deterministic(whole / "epochs.csv")
    one, other = open_run(whole).load_model().state_dict(), open_run(killed).load_model().state_dict()
    assert all(torch.equal(one[name], other[name]) for name in one)
    steps = [row["step"] for row in read_rows(killed / "metrics.csv")]
    assert steps == list(range(60))


def deterministic(path: Path) -> list[dict[str, str]]:
    """Rows of the epochs, without what the clock says."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [{name: value for name, value in row.items() if "/" in name or name == "epoch"} for row in rows]


def test_a_finished_run_is_neither_overwritten_nor_resumed(tmp_path, capsys) -> None:
    run = tmp_path / "run"
    (run / "results").mkdir(parents=True)
    (run / "results" / "train.json").write_text("{}")
    (run / "config.yaml").write_text("seed: 0\n")
    assert main(["train", "fashion-mini", "-o", str(run)]) == 2
    assert "holds a finished run, which is not overwritten" in capsys.readouterr().err
    assert main(["train", "--resume", str(run)]) == 2
    assert "is finished: there is nothing to resume" in capsys.readouterr().err


def test_an_unfinished_run_is_not_overwritten(tmp_path, capsys) -> None:
    (tmp_path / "config.yaml").write_text("seed: 0\n")
    assert main(["train", "fashion-mini", "-o", str(tmp_path)]) == 2
    assert f"codednet train --resume {tmp_path}" in capsys.readouterr().err
