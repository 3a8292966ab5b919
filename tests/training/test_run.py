"""What a training leaves in its folder, and what stops it."""

import csv
import json
import math
import re
from pathlib import Path

import pytest
import torch

from codednet.cli.main import main
from codednet.codes import Code
from codednet.runs.folder import open_run
from codednet.training.records import read_rows


def test_a_run_folder_holds_what_was_promised(finished_run: Path) -> None:
    names = {path.name for path in finished_run.iterdir()}
    assert names >= {"config.yaml", "codes", "environment.json", "metrics.csv", "epochs.csv", "checkpoints", "model"}
    folder = open_run(finished_run)
    config, model = folder.config(), folder.load_model()
    assert (config.recipe, config.optim.epochs, config.data.name) == ("fashion-mini", 3, "imagefolder")
    assert {path.stem for path in (finished_run / "codes").iterdir()} == set(model.coded_blocks)
    for name, code in zip(model.coded_blocks, model.codes, strict=True):
        assert Code.load(finished_run / "codes" / f"{name}.txt") == code
    assert json.loads((finished_run / "environment.json").read_text())["seed"] == 0
    assert model.config.class_names == tuple(f"class{index}" for index in range(10))


def test_every_epoch_says_losses_decoders_speed_and_memory(finished_run: Path) -> None:
    rows = read_rows(finished_run / "epochs.csv")
    assert [row["epoch"] for row in rows] == [0, 1, 2]
    blocks = open_run(finished_run).load_model().coded_blocks
    for split in ("train", "tune"):
        wanted = {"loss", "class_loss", "accuracy"}
        wanted |= {f"{what}/{name}" for what in ("coding", "decoder") for name in blocks}
        assert {f"{split}/{name}" for name in wanted} <= set(rows[0])
    for row in rows:
        assert row["images_a_second"] > 0
        assert 0 <= row["waiting_share"] < 1
        assert row["peak_memory_mb"] > 50
        assert row["train/loss"] == pytest.approx(
            row["train/class_loss"] + 6 * sum(row[f"train/coding/{name}"] for name in blocks), rel=1e-5
        )
    assert rows[-1]["train/loss"] < rows[0]["train/loss"]


def test_epoch_means_are_those_of_the_steps(finished_run: Path) -> None:
    steps = read_rows(finished_run / "metrics.csv")
    for epoch in read_rows(finished_run / "epochs.csv"):
        own = [row for row in steps if row["epoch"] == epoch["epoch"]]
        images = sum(row["images"] for row in own)
        for name in ("loss", "accuracy", "decoder/layer3.1"):
            mean = sum(row[name] * row["images"] for row in own) / images
            assert epoch[f"train/{name}"] == pytest.approx(mean, rel=1e-9)


def test_the_network_kept_is_that_of_the_best_epoch(finished_run: Path, capsys) -> None:
    rows = read_rows(finished_run / "epochs.csv")
    assert main(["evaluate", str(finished_run), "--split", "tune-fit", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["accuracy"] == pytest.approx(max(row["tune/accuracy"] for row in rows))


def test_without_a_tune_split_the_last_epoch_is_kept(tmp_path: Path, quick: list[str], capsys) -> None:
    run = tmp_path / "run"
    options = ["--data.tune=0", "--optim.epochs=1", "--model.coded=false", "--json"]
    assert main(["train", "fashion-mini", "-o", str(run), *quick, *options]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["run"] == str(run)
    assert printed["best"] == {"epoch": 0}
    model = open_run(run).load_model()
    assert not model.coded_blocks
    assert model.config.architecture == "resnext20_10x4d"
    last = torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"]
    assert all(torch.equal(last[f"model.{name}"], value) for name, value in model.state_dict().items())
    assert main(["evaluate", str(run), "--split", "tune"]) == 2
    assert "tune" in capsys.readouterr().err


def test_a_loss_that_is_no_number_stops_the_run(tmp_path: Path, quick: list[str], capsys) -> None:
    run = tmp_path / "run"
    options = ["--optim.learning-rate=1e30", "--optim.warmup-epochs=0", "--optim.epochs=2"]
    assert main(["train", "fashion-mini", "-o", str(run), *quick, *options]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert re.search(r"the loss became (nan|inf) at step 1 of epoch 0, at a learning rate of 9\.9\d*e\+29", said)
    assert f"the last good checkpoint is '{run}/checkpoints/last.ckpt'" in said
    weights = torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)["state_dict"]
    assert all(torch.isfinite(value).all() for value in weights.values())
    assert not open_run(run).is_finished
    with (run / "metrics.csv").open() as file:
        assert not math.isfinite(float(list(csv.DictReader(file))[-1]["loss"]))


def test_a_sweep_trains_every_combination_once_and_goes_on(tmp_path: Path, pictures: Path, capsys) -> None:
    recipe = tmp_path / "short.yaml"
    recipe.write_text(
        f"data: {{name: imagefolder, root: {pictures}, image_size: 16, test_size: 16, workers: 0, tune: 0.35}}\n"
        "optim: {epochs: 1, batch: 16}\n"
        "machine: {precision: float32, threads: 1, device: cpu, tensorboard: false}\n"
    )
    folder = tmp_path / "sweep"
    command = ["sweep", str(recipe), "--set", "coding.mu=0,2", "-o", str(folder), "--json"]
    assert main(command) == 0
    rows = json.loads(capsys.readouterr().out)["trainings"]
    assert [row["run"] for row in rows] == ["coding.mu=0", "coding.mu=2"]
    assert open_run(folder / "coding.mu=2").config().coding.mu == 2
    written = (folder / "coding.mu=0" / "results" / "train.json").stat().st_mtime_ns
    (folder / "coding.mu=2" / "results" / "train.json").unlink()  # as if it had been killed before its end
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["trainings"][0] == rows[0]
    assert (folder / "coding.mu=0" / "results" / "train.json").stat().st_mtime_ns == written
    assert open_run(folder / "coding.mu=2").is_finished
    assert len((folder / "sweep.csv").read_text().splitlines()) == 3
    changed = ["sweep", str(recipe), "--set", "coding.mu=0,2", "--set", "optim.batch=8", "-o", str(folder)]
    assert main(changed) == 2
    assert "holds a training with other settings" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["coding.mu"], "--set takes fields and values, as in coding.mu=0,2,4; got 'coding.mu'"),
        (["coding.mi=1,2"], "unknown argument --coding.mi: did you mean '--coding.mu'"),
        (["coding.mu=1", "coding.mu=2"], "--set names coding.mu twice"),
    ],
)
def test_wrong_values_of_a_sweep_are_refused_before_it_begins(tmp_path, capsys, values, message) -> None:
    assert main(["sweep", "fashion-mini", "--set", *values, "-o", str(tmp_path / "sweep")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "sweep").exists()
