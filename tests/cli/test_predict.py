"""`codednet predict` of a run with fitted values: exits, confidences, agreement, and notices of what is not used."""

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.special import softmax

import codednet
from codednet.cli.main import main
from codednet.data import open_data
from codednet.decoding import read_fitted
from codednet.models import Trace
from codednet.runs import open_run


def call(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main(["predict", *map(str, arguments), "--device=cpu"])
    return status, *capsys.readouterr()


@pytest.fixture(scope="module")
def tinted(pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pictures, each tinted at random: not all are clear early, or at all."""
    root, draw = shutil.copytree(pictures, tmp_path_factory.mktemp("tinted") / "pictures"), np.random.default_rng(0)
    for file in sorted(root.rglob("*.png")):
        pixels = np.asarray(Image.open(file)) + draw.integers(-45, 45, 3)
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(file)
    return root


@pytest.fixture(scope="module")
def fitted_run(finished_run: Path, tinted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with temperatures and exits; tests only read it."""
    torch.set_num_threads(1)
    run = shutil.copytree(finished_run, tmp_path_factory.mktemp("predict") / "run")
    options = [str(run), f"--root={tinted}", "--device=cpu"]
    assert main(["calibrate", *options, "--splits=1"]) == 0
    assert main(["exits", *options, "--risk=0.1", "--delta=0.5", "--rounds=0"]) == 0
    return run


@torch.no_grad()
def seen(run: Path, root: Path) -> tuple[Trace, np.ndarray]:
    """Of the test images in the order of their names: logits, energies, and labels of the nearest words by block."""
    model, config = open_run(run).load_model(), open_run(run).config().data
    (batch,) = open_data(replace(config, root=str(root)), 3).eval_loader("test", 64)
    trace = model.trace(batch.images)
    blocks = ((e.double().numpy()[:, None], code.words) for e, code in zip(trace.energies, model.codes, strict=True))
    return trace, np.stack([((energies - words) ** 2).sum(2).argmin(1) for energies, words in blocks], 1)


def test_images_leave_where_the_posterior_first_reaches_the_threshold_and_the_rest_go_through(
    fitted_run, tinted, capsys
):
    kept, (trace, early) = read_fitted(open_run(fitted_run)), seen(fitted_run, tinted)
    posteriors = kept.exits.decoder.log_posteriors(trace.energies).exp().numpy()
    through = (trace.logits.double() / kept.calibration.h_T.temperature).softmax(1).numpy()
    rows = json.loads(call(capsys, fitted_run, tinted / "test", "--json")[1])["predictions"]
    for image, row in enumerate(rows):
        sure = posteriors[:, image].max(1) >= kept.exits.choice.threshold
        look = int(sure.argmax()) if sure.any() else len(sure) - 1
        says = posteriors[look, image] if sure.any() else through[image]
        read = early[image, list(kept.exits.decoder.blocks)[: look + 1]]
        assert row["exit"] == (kept.exits.looks[look] if sure.any() else None)
        assert row["label"] == f"class{says.argmax()}"
        assert row["confidence"] == pytest.approx(says.max(), abs=1e-5)
        assert row["agreement"] == pytest.approx((read == says.argmax()).mean())
    assert {row["exit"] is None for row in rows} == {True, False}


def test_without_exits_all_early_decoders_count(fitted_run, tinted, capsys):
    status, out, said = call(capsys, fitted_run, tinted / "test", "--exits=false", "--json")
    aug, (trace, early) = read_fitted(open_run(fitted_run)).calibration.h_aug, seen(fitted_run, tinted)
    agree = early == (logits := trace.logits.double().numpy()).argmax(1)[:, None]
    wanted = softmax(logits / (aug.temperature * (1 + agree @ np.array(aug.taus)))[:, None], axis=1).max(1)
    rows = json.loads(out)["predictions"]
    assert (status, said, {row["exit"] for row in rows}) == (0, "", {None})
    assert [row["confidence"] for row in rows] == pytest.approx(wanted.tolist(), abs=1e-5)
    assert [row["agreement"] for row in rows] == pytest.approx(agree.mean(1).tolist())


def test_json_lines_csv_and_the_json_object_say_the_same(fitted_run, tinted, tmp_path, capsys):
    rows = json.loads(call(capsys, fitted_run, tinted / "test", "--json")[1])["predictions"]
    out = call(capsys, fitted_run, tinted / "test", "--format=jsonl")[1]
    assert [json.loads(line) for line in out.splitlines()] == rows
    assert call(capsys, fitted_run, tinted / "test", "-o", tmp_path / "labels.jsonl")[:2] == (0, "")
    assert (tmp_path / "labels.jsonl").read_text() == out
    table = list(csv.DictReader(call(capsys, fitted_run, tinted / "test")[1].splitlines()))
    assert [(row["label"], row["exit"]) for row in table] == [(row["label"], row["exit"] or "") for row in rows]
    assert [row["confidence"] for row in table] == [f"{row['confidence']:.4f}" for row in rows]


def test_notices_say_what_is_not_used_and_why(finished_run, twin_run, fitted_run, pictures, tmp_path, capsys):
    image = pictures / "test" / "class3" / "0.png"
    plainly, stays = "confidences are those of softmax as it is", "no image leaves early"

    def said(run: Path, *arguments: str) -> str:
        status, _, notice = call(capsys, run, image, *arguments)
        assert (status, notice.count("\n")) == (0, bool(notice))
        return notice.strip()

    run, fit = finished_run, f"`codednet calibrate {finished_run}` and `codednet exits {finished_run}`"
    assert said(run) == f"{plainly} and {stays}: nothing was fitted yet; run {fit}."
    assert said(run, "--exits=false") == f"{plainly}: nothing was fitted yet; run `codednet calibrate {run}`."
    assert said(twin_run) == f"{plainly}: nothing was fitted yet; run `codednet calibrate {twin_run}`."
    assert said(run / "model") == f"{plainly} and {stays}: only a run folder keeps fitted values."
    assert said(fitted_run) == ""

    other = shutil.copytree(fitted_run, tmp_path / "run")
    assert main(["exits", str(other), "--device=cpu"]) == 0
    capsys.readouterr()
    assert said(other).startswith(f"{stays}: a risk of 0.01 cannot be promised with probability 0.95 on 20 images")
    codednet.save(codednet.load(twin_run / "model"), other / "model")
    assert "what was fitted is of other weights than the run has now; fit again with" in said(other)
    (other / "results" / "decoding.json").unlink()
    (other / "config.yaml").write_text((other / "config.yaml").read_text().replace("tune: 0.35", "tune: 0.0"))
    assert said(other).endswith("the run trained on everything, so it has no tune split to fit on.")


def test_fitted_values_that_cannot_be_read_are_refused_with_what_to_do(fitted_run, pictures, tmp_path, capsys):
    file = shutil.copytree(fitted_run, tmp_path / "run") / "results" / "decoding.json"
    file.write_text("{")
    status, out, said = call(capsys, tmp_path / "run", pictures / "test")
    advice = "remove it, and run `codednet calibrate` and `codednet exits` again.\n"
    assert (status, out, said.count("\n"), said.endswith(advice)) == (2, "", 1, True)
    file.unlink()
    assert call(capsys, tmp_path / "run", pictures / "test")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("nowhere {images}", "'nowhere' is no folder, nor the hub's 'user/repo'."),
        ("{run} {images} --batch=0", "--batch must be 1 or more; got 0."),
        ("{run} {images} --format=xml", "--format must be one of 'csv', 'jsonl', got 'xml'."),
        ("{run} {images} -o no/such/labels.csv", "there is no folder 'no/such' to write into: make it first."),
        ("{run}", "PATHS is missing: codednet predict MODEL PATHS ..."),
    ],
)
def test_wrong_input_exits_with_2_and_one_sentence(finished_run, pictures, arguments, message, capsys):
    status, out, said = call(capsys, *arguments.format(run=finished_run, images=pictures / "test").split())
    assert (status, out, said.count("\n"), message in said) == (2, "", 1, True), said
