"""`codednet exits`: accuracy and cost of a rule are those of the network that runs with it, image by image."""

import json
import shutil
from math import comb
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from codednet.cli.main import main
from codednet.data import open_data
from codednet.decoding import NEVER, THRESHOLDS, Staged, StagedRunner, read_fitted
from codednet.runs import open_run

# What twenty images can promise.
LOOSE = ["--risk=0.3", "--delta=0.5", "--rounds=4"]


def call(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main(["exits", *map(str, arguments), "--device=cpu"])
    return status, *capsys.readouterr()


@pytest.fixture(scope="module")
def run(finished_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with results that the tests share."""
    torch.set_num_threads(1)
    return shutil.copytree(finished_run, tmp_path_factory.mktemp("exits") / "run")


@pytest.fixture
def record(run: Path, capsys) -> dict[str, Any]:
    """The JSON object that is printed of the loose rule, which the run then keeps."""
    return json.loads(call(capsys, run, *LOOSE, "--json")[1])


def seen(run: Path, split: str) -> tuple[torch.Tensor, torch.Tensor]:
    (batch,) = open_data(open_run(run).config().data, 3).eval_loader(split, 64)
    return batch.images, batch.labels


@torch.no_grad()
def answered(run: Path, split: str, threshold: float) -> tuple[Staged, int]:
    """What the network says with the exits that the run keeps, and how many are right in full and wrong so."""
    (images, labels), model = seen(run, split), open_run(run).load_model()
    found = StagedRunner(model, read_fitted(open_run(run)).exits.decoder, threshold)(images)
    return found, int(((model(images).argmax(1) == labels) & (found.labels != labels)).sum())


def test_accuracy_risk_and_shares_are_those_of_the_network_that_runs_with_the_rule(run, record):
    labels = seen(run, "test")[1]
    assert (record["images"], record["fit_images"], record["choice"]["images"]) == (40, 20, 20)
    for point in [record["chosen"], *record["curve"][1::16]]:
        found, bad = answered(run, "test", point["threshold"])
        assert point["accuracy"] == pytest.approx(float((found.labels == labels).double().mean()))
        assert point["risk"] == pytest.approx(bad / 40)
        counts = torch.bincount(found.exits, minlength=len(record["looks"]) + 1)
        assert point["shares"] == pytest.approx((counts / 40).tolist())
    found, full = (answered(run, "test", limit)[0] for limit in (record["choice"]["threshold"], NEVER))
    for place, look in enumerate([*record["looks"], record["through"]]):
        here = found.exits == place
        right = [float((said.labels == labels)[here].double().mean()) if here.any() else None for said in (found, full)]
        assert look["images"] == int(here.sum())
        assert [look["accuracy"], look["full_accuracy"]] == pytest.approx(right)


@torch.no_grad()
def test_multiply_adds_are_those_counted_image_by_image(run, record):
    def counted(network: Any, image: torch.Tensor) -> float:
        with FlopCounterMode(display=False) as counter:
            network(image)
        return counter.get_total_flops() / 2

    images, model = seen(run, "test")[0].split(1), open_run(run).load_model()
    runner = read_fitted(open_run(run)).exits.runner(model)
    for network in (model, StagedRunner(model, runner.decoder, NEVER)):
        network(images[0])  # what depends on the weights alone is computed once, and not counted
    mean = sum(counted(runner, image) for image in images) / 40
    assert record["chosen"]["multiply_adds"] == pytest.approx(mean)
    assert record["chosen"]["cost"] == pytest.approx(mean / counted(model, images[0]))


def test_the_threshold_is_the_loosest_that_keeps_the_promise_on_images_of_their_own(run, record):
    choice = record["choice"]
    bad = [answered(run, "tune-risk", threshold)[1] for threshold in THRESHOLDS[: choice["tested"]]]
    p_values = [sum(comb(20, k) * 0.3**k * 0.7 ** (20 - k) for k in range(few + 1)) for few in bad]
    passed = [p_value <= 0.5 for p_value in p_values]
    last = sum(passed) - 1
    assert passed == [True] * (last + 1) + [False] * (choice["threshold"] != THRESHOLDS[-1])
    assert (choice["threshold"], choice["bad"]) == (THRESHOLDS[last], bad[last])
    assert choice["p_value"] == pytest.approx(p_values[last])


def test_too_few_images_never_exit_which_is_said_kept_and_replaced_by_what_is_asked_next(run, record, capsys):
    kept = read_fitted(open_run(run)).exits.document()
    status, out, _ = call(capsys, run)
    why = "a risk of 0.01 cannot be promised with probability 0.95 on 20 images: it takes 299 or more."
    said = f"Never exit: {why} Fitted on 20 images of tune-fit; every image goes through the whole network."
    assert (status, said in out) == (0, True)
    assert read_fitted(open_run(run)).exits.choice.why == why
    never = json.loads(call(capsys, run, "--json")[1])
    assert (never["chosen"]["cost"], never["chosen"]["accuracy"], never["times"]) == (1, record["accuracy"], [])
    assert json.loads(call(capsys, run, *LOOSE, "--json")[1]) == record
    assert read_fitted(open_run(run)).exits.document() == kept


def test_what_is_measured_is_read_again_unless_fresh(run, record, capsys):
    (file,) = (run / "results").glob("exits-risk=0.3*.json")
    written = file.stat().st_mtime_ns
    assert json.loads(call(capsys, run, *LOOSE, "--json")[1]) == record  # its times among the rest
    assert file.stat().st_mtime_ns == written
    assert json.loads(call(capsys, run, *LOOSE, "--fresh", "--json")[1])["rule"] == record["rule"]
    assert file.stat().st_mtime_ns > written


def test_people_read_and_see_the_promise_where_images_leave_and_what_it_saves(run, tmp_path, capsys):
    for name, start in (("exits.svg", b"<?xml"), ("exits.png", b"\x89PNG")):
        status, out, said = call(capsys, run, *LOOSE, "--plot", tmp_path / name)
        assert (status, said) == (0, "")
        assert (tmp_path / name).read_bytes().startswith(start)
    figure = (tmp_path / "exits.svg").read_text()
    assert all(words in figure for words in ("this rule: threshold", "whole network", "milliseconds an image"))
    words = ["with probability 0.5 or more at most 0.3 of images", "Where images leave", "layer", "this rule"]
    words += ["Accuracy against multiply-adds", "Milliseconds an image", "all numbers: "]
    assert [word for word in words if word not in out] == []


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
        ("{run} --batch=0 --fresh", "a batch has 1 image or more"),
    ],
)
def test_wrong_input_exits_with_2_and_one_sentence(run, twin_run, noise, tmp_path, arguments, message, capsys):
    shutil.copytree(run, tmp_path / "run")
    config = tmp_path / "run" / "config.yaml"
    config.write_text(config.read_text().replace("tune: 0.35", "tune: 0.0"))
    names = {"run": run, "twin": twin_run, "noise": noise, "everything": config.parent}
    status, out, said = call(capsys, *arguments.format(**names).split())
    assert (status, out, said.count("\n"), message.format(**names) in said) == (2, "", 1, True), said
