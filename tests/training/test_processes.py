"""Two processes train as one does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from codednet.cli.main import main
from codednet.codes import Code
from codednet.runs.folder import open_run
from codednet.training.records import read_rows

# Batch norm of one process sees what each of two would see, and no branch is dropped: the steps are then the same.
ALIKE = ["--optim.bn-batch=4", "--coding.drop-branch=0", "--optim.epochs=1", "--optim.learning-rate=0.002"]


def torchrun(*arguments: str) -> str:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_two_processes_give_the_gradients_of_one_with_the_whole_batch() -> None:
    gradients, worst = torchrun(str(Path(__file__).parent / "gradients.py")).split(" gradients, ")
    assert int(gradients) > 60
    assert 0 <= float(worst) < 1e-4


@pytest.fixture(scope="module")
def shared_run(tmp_path_factory: pytest.TempPathFactory, quick: list[str]) -> Path:
    run = tmp_path_factory.mktemp("shared") / "run"
    # Another code seed than the default, so that a code is designed for the run.
    torchrun("-m", "codednet", "train", "fashion-mini", "-o", str(run), *quick, *ALIKE, "--model.code-seed=3")
    return run


@pytest.mark.slow
def test_two_processes_take_the_steps_of_one(shared_run: Path, tmp_path: Path, quick: list[str], capsys) -> None:
    alone = tmp_path / "alone"
    assert main(["train", "fashion-mini", "-o", str(alone), *quick, *ALIKE, "--model.code-seed=3"]) == 0
    one, two = read_rows(alone / "metrics.csv"), read_rows(shared_run / "metrics.csv")
    assert len(one) == len(two) > 5
    for row, other in zip(one, two, strict=True):
        assert row["images"] == other["images"] == 8
        # Rounding grows from step to step; a wrong gradient would show at once.
        assert other["loss"] == pytest.approx(row["loss"], rel=1e-5 if row["step"] < 4 else 1e-3)


@pytest.mark.slow
def test_a_run_of_two_processes_is_used_like_any_other(
    shared_run: Path, pictures: Path, tmp_path: Path, capsys
) -> None:
    assert main(["evaluate", str(shared_run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["images"] == 40
    model = open_run(shared_run).load_model()
    assert Code.load(shared_run / "codes" / "layer3.0.txt") == model.codes[2]
    assert main(["predict", str(shared_run), str(pictures / "test"), "-o", str(tmp_path / "labels.csv")]) == 0
    assert len((tmp_path / "labels.csv").read_text().splitlines()) == 41
