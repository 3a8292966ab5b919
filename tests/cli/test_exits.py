"""`codednet exits`: accuracy and cost of a rule are those of the network that runs with it, image by image."""

import json
import shutil
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.flop_counter import FlopCounterMode

from codednet.cli.main import main
from codednet.data import open_data
from codednet.decoding import NEVER, THRESHOLDS, Staged, StagedRunner, read_fitted
from codednet.runs import open_run

LOOSE = ["--risk=0.1", "--delta=0.5", "--rounds=4"]  # what twenty images can promise


def call(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main(["exits", *map(str, arguments), "--device=cpu"])
    return status, *capsys.readouterr()


@pytest.fixture(scope="module")
def run(finished_run: Path, pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with results that the tests share, on pictures tinted at random: not all are clear early, or at all."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("exits")
    root, draw = shutil.copytree(pictures, folder / "pictures"), np.random.default_rng(0)
    for file in sorted(root.rglob("*.png")):
        tinted = np.asarray(Image.open(file)) + draw.integers(-45, 45, 3)
        Image.fromarray(tinted.clip(0, 255).astype(np.uint8)).save(file)
    config = shutil.copytree(finished_run, folder / "run") / "config.yaml"
    config.write_text(config.read_text().replace(str(pictures), str(root)))
    return config.parent


@pytest.fixture
def record(run: Path, capsys) -> dict[str, Any]:
    """The JSON object that is printed of the loose rule, which the run then keeps."""
    return json.loads(call(capsys, run, *LOOSE, "--json")[1])


def seen(run: Path, split: str) -> tuple[torch.Tensor, torch.Tensor]:
    (batch,) = open_data(open_run(run).config().data, 3).eval_loader(split, 64)
    return batch.images, batch.labels


@torch.no_grad()
def answered(run: Path, split: str, *thresholds: float) -> list[tuple[Staged, int]]:
    """What the network says with the decoder that the run keeps, and how many are right in full and wrong so."""
    (images, labels), model, kept = seen(run, split), open_run(run).load_model(), read_fitted(open_run(run))
    found = [StagedRunner(model, kept.exits.decoder, threshold)(images) for threshold in thresholds]
    right = model(images).argmax(1) == labels
    return [(one, int((right & (one.labels != labels)).sum())) for one in found]


def test_accuracy_risk_and_shares_are_those_of_the_network_that_runs_with_the_rule(run, record):
    labels, looks, points = seen(run, "test")[1], len(record["looks"]), [record["chosen"], *record["curve"][1::16]]
    assert (record["images"], record["fit_images"], record["choice"]["images"]) == (40, 20, 20)
    said = answered(run, "test", NEVER, *(point["threshold"] for point in points))
    for point, (one, bad) in zip(points, said[1:], strict=True):
        assert point["accuracy"] == pytest.approx(float((one.labels == labels).double().mean()))
        assert point["risk"] == pytest.approx(bad / 40)
        assert point["shares"] == pytest.approx((torch.bincount(one.exits, minlength=looks + 1) / 40).tolist())
    full, chosen = said[0][0], said[1][0]
    assert 0 < int((chosen.exits < looks).sum()) < 40
    for place, look in enumerate([*record["looks"], record["through"]]):
        here = chosen.exits == place
        assert look["images"] == int(here.sum())
        right = [float((one.labels == labels)[here].double().mean()) if here.any() else None for one in (chosen, full)]
        assert [look["accuracy"], look["full_accuracy"]] == pytest.approx(right)


@torch.no_grad()
def test_multiply_adds_are_those_counted_image_by_image(run, record):
    def counted(network: Any, image: torch.Tensor) -> float:
        network(image)  # what depends on the weights alone is computed once, and not counted
        with FlopCounterMode(display=False) as counter:
            network(image)
        return counter.get_total_flops() / 2

    images, model = seen(run, "test")[0].split(1), open_run(run).load_model()
    runner = read_fitted(open_run(run)).exits.runner(model)
    mean = sum(counted(runner, image) for image in images) / 40
    assert record["multiply_adds"] == counted(model, images[0])
    assert record["chosen"]["multiply_adds"] == pytest.approx(mean)


def test_the_threshold_is_the_loosest_that_keeps_the_promise_on_images_of_their_own(run, record):
    choice = record["choice"]
    bad = [wrong for _, wrong in answered(run, "tune-risk", *THRESHOLDS[: choice["tested"]])]
    p_values = [sum(comb(20, k) * 0.1**k * 0.9 ** (20 - k) for k in range(few + 1)) for few in bad]
    last = choice["tested"] - 2
    assert [p_value <= 0.5 for p_value in p_values] == [True] * (last + 1) + [False]
    assert (choice["threshold"], choice["bad"]) == (THRESHOLDS[last], bad[last])
    assert choice["p_value"] == pytest.approx(p_values[last])


def test_too_few_images_never_exit_which_is_said_kept_and_replaced_by_what_is_asked_next(run, record, capsys):
    why = "a risk of 0.01 cannot be promised with probability 0.95 on 20 images: it takes 299 or more."
    assert f"Never exit: {why} Fitted on 20 images of tune-fit; every image goes through" in call(capsys, run)[1]
    assert read_fitted(open_run(run)).exits.choice.why == why
    never = json.loads(call(capsys, run, "--json")[1])
    assert (never["chosen"]["cost"], never["chosen"]["accuracy"], never["times"]) == (1, record["accuracy"], [])
    assert json.loads(call(capsys, run, *LOOSE, "--json")[1]) == record
    assert read_fitted(open_run(run)).exits.document() == record["rule"]


def test_what_is_measured_is_read_again_unless_fresh(run, record, capsys):
    (file,) = (run / "results").glob("exits-risk=0.1*.json")
    written = file.stat().st_mtime_ns
    assert json.loads(call(capsys, run, *LOOSE, "--json")[1]) == record  # its times among the rest
    assert file.stat().st_mtime_ns == written
    assert json.loads(call(capsys, run, *LOOSE, "--fresh", "--json")[1])["choice"] == record["choice"]
    assert file.stat().st_mtime_ns > written


def test_people_read_and_see_the_promise_where_images_leave_and_what_it_saves(run, tmp_path, capsys):
    out = call(capsys, run, *LOOSE, "--plot", tmp_path / "exits.svg")[1]
    figure = (tmp_path / "exits.svg").read_text()
    assert all(words in figure for words in ("<svg", "this rule: threshold", "whole network", "milliseconds an image"))
    assert all(words in out for words in ("with probability 0.5 or more at most 0.1", "Where images leave", "median"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("{noise}", "is no run folder: it has no config.yaml."),
        ("{twin}", "the network is plain; train the coded one by the same recipe: codednet train"),
        ("{everything}", "the run trained on everything; train with one: codednet train {everything}/config.yaml"),
        ("{run} --risk=0", "risk is a probability above 0 and below 1, such as 0.01; got 0.0."),
        ("{run} --delta=1.5", "delta is a probability above 0 and below 1, such as 0.01; got 1.5."),
        ("{run} --rounds=2", "rounds must be 0, for no times, or 4 and more; got 2."),
        ("{run} --plot=exits.gif", "--plot must end in .svg, .png, .pdf; got 'exits.gif'."),
        ("{run} --plot=no/such/exits.svg", "there is no folder 'no/such' to draw 'exits.svg' into: make it first."),
    ],
)
def test_wrong_input_exits_with_2_and_one_sentence(run, twin_run, noise, tmp_path, arguments, message, capsys):
    config = shutil.copytree(run, tmp_path / "run") / "config.yaml"
    config.write_text(config.read_text().replace("tune: 0.35", "tune: 0.0"))
    names = {"run": run, "twin": twin_run, "noise": noise, "everything": config.parent}
    status, out, said = call(capsys, *arguments.format(**names).split())
    assert (status, out, said.count("\n"), message.format(**names) in said) == (2, "", 1, True), said
