"""`codednet calibrate`: fits are the likeliest by SciPy, errors those of torchmetrics, and predictions use them."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.metrics import log_loss
from torchmetrics.functional.classification import multiclass_calibration_error

import codednet
from codednet.cli.main import main
from codednet.data import open_data
from codednet.decoding import read_fitted
from codednet.runs import open_run


def call(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main(["calibrate", "--splits=3", "--device=cpu", *map(str, arguments)])
    return status, *capsys.readouterr()


@pytest.fixture(scope="module")
def run(finished_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy that is calibrated once."""
    torch.set_num_threads(1)
    return shutil.copytree(finished_run, tmp_path_factory.mktemp("calibrate") / "run")


@pytest.fixture
def record(run: Path, capsys) -> dict[str, Any]:
    """The JSON object that is printed."""
    return json.loads(call(capsys, run, "--json")[1])


@torch.no_grad()
def seen(run: Path, split: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logits, labels, and which early decoders agree with the network, a column each."""
    folder = open_run(run)
    (batch,) = open_data(folder.config().data, 3).eval_loader(split, 64)
    trace = folder.load_model().trace(batch.images)
    agree = codednet.decode(trace.energies, folder.load_model().codes) == trace.logits.argmax(1)
    return trace.logits.double().numpy(), batch.labels.numpy(), agree.T.double().numpy()


def probabilities(run: Path, record: dict[str, Any], split: str) -> dict[str, np.ndarray]:
    """By the temperatures of the record."""
    logits, _, agree = seen(run, split)
    aug = record["fitted"]["h_aug"]
    scales = {"softmax": 1.0, "h_T": record["fitted"]["h_T"]}
    scales["h_aug"] = aug["temperature"] * (1 + agree @ aug["taus"])[:, None]
    return {name: softmax(logits / scale, axis=1) for name, scale in scales.items()}


def test_h_t_is_the_likeliest_temperature_and_h_aug_is_likelier(run, record):
    logits, labels, _ = seen(run, "tune-fit")

    def nll(log_t: float) -> float:
        return -log_softmax(logits / np.exp(log_t), axis=1)[np.arange(20), labels].mean()

    found = minimize_scalar(nll, bounds=(-6, 6), method="bounded", options={"xatol": 1e-9})
    assert record["fitted"]["h_T"] == pytest.approx(np.exp(found.x), rel=1e-4)
    losses = {name: log_loss(labels, p) for name, p in probabilities(run, record, "tune-fit").items()}
    assert losses["h_aug"] <= losses["h_T"] <= losses["softmax"]


def test_errors_on_the_test_split_are_those_of_torchmetrics_numpy_and_scikit_learn(run, record):
    logits, labels, _ = seen(run, "test")
    assert (record["split"], record["images"], record["bins"]) == ("test", 40, 15)
    assert record["accuracy"] == pytest.approx((logits.argmax(1) == labels).mean())
    methods = {one["method"]: one for one in record["fitted"]["methods"]}
    assert list(methods) == ["softmax", "h_T", "h_aug", "agreement"]
    for name, p in probabilities(run, record, "test").items():
        table, truth, found = torch.tensor(p), torch.tensor(labels), methods[name]
        for error, norm in (("ece", "l1"), ("mce", "max")):
            wanted = float(multiclass_calibration_error(table, truth, 10, n_bins=15, norm=norm))
            assert found[error] == found["quality"][error] == pytest.approx(wanted, abs=1e-6)
        assert found["quality"]["brier"] == pytest.approx(((p - np.eye(10)[labels]) ** 2).sum(1).mean())
        assert found["quality"]["nll"] == pytest.approx(log_loss(labels, p))
        assert sum(bar["images"] for bar in found["reliability"]) == 40


def test_the_run_keeps_what_predictions_use(run, record, pictures, capsys):
    assert read_fitted(open_run(run)).calibration.document() == record["fitted"]["kept"]
    assert main(["predict", str(run), str(pictures / "test"), "--json", "--device=cpu"]) == 0
    rows = json.loads(capsys.readouterr().out)["predictions"]
    wanted = probabilities(run, record, "test")["h_aug"].max(1)
    assert [row["confidence"] for row in rows] == pytest.approx(wanted.tolist(), abs=1e-5)


def test_what_is_measured_is_read_again_unless_fresh(run, record, capsys):
    file = run / "results" / "calibration-splits=3.json"
    written = file.stat().st_mtime_ns
    assert json.loads(call(capsys, run, "--json")[1]) == record
    assert file.stat().st_mtime_ns == written
    assert json.loads(call(capsys, run, "--fresh", "--json")[1]) == record
    assert file.stat().st_mtime_ns > written


def test_what_too_few_images_leave_out_is_said_and_nothing_at_all_is_refused(finished_run, pictures, tmp_path, capsys):
    config, root = shutil.copytree(finished_run, tmp_path / "run") / "config.yaml", tmp_path / "pictures"
    shutil.copytree(pictures, root)
    for number in (1, 2, 3):
        (root / "test" / "class4" / f"{number}.png").unlink()
    why = "class 4 has 1 images, too few to split 25% from 75%: each part needs one of every class."
    assert f"No protocol. {why} Measure on more images." in call(capsys, config.parent, "--root", root)[1]
    (config.parent / "results" / "decoding.json").unlink()
    config.write_text(config.read_text().replace("tune: 0.35", "tune: 0.0"))
    status, out, said = call(capsys, config.parent, "--root", root)
    assert (status, out, said.count("\n"), why in said) == (2, "", 1, True)
    status, out, _ = call(capsys, config.parent)
    assert (status, "Nothing fitted for predictions. There is no tune split to fit on" in out) == (0, True)
    assert "Train with --data.tune=0.1 for one." in " ".join(out.split())
    assert not (config.parent / "results" / "decoding.json").exists()


def test_people_read_temperatures_errors_and_where_all_numbers_are(run, twin_run, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    words = ["Fitted on 20 images of tune-fit, kept in the run for predictions. h_T: T = ", "softmax as it is", "MCE"]
    words += ["Measured on 40 images of test", "Paper's protocol: fitted on 25%", "of 3 splits", "all numbers: "]
    early = ["; h_aug: T = ", "by early decoder", "agreeing decoders alone"]
    out, plain = (call(capsys, one)[1] for one in (run, shutil.copytree(twin_run, tmp_path / "twin")))
    assert [word for word in (*words, *early) if word not in out] == []
    assert [word for word in (*words, *early) if word not in plain] == early


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("{noise}", "is no run folder: it has no config.yaml."),
        ("{run} --splits=0", "splits must be 1 or more; got 0."),
        ("{run} --bins=0", "bins must be 1 or more; got 0."),
        ("{run} --seed=new", "--seed must be a whole number, got 'new'."),
        ("{run} --root={noise}", "a classifier needs two classes or more"),
        ("{run} --batch=0 --fresh", "a batch has 1 image or more"),
    ],
)
def test_wrong_input_exits_with_2_and_one_sentence(run, noise, arguments, message, capsys):
    status, out, said = call(capsys, *arguments.format(run=run, noise=noise).split())
    assert (status, out, said.count("\n"), message in said) == (2, "", 1, True), said
