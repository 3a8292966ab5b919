"""`codednet demo`: what there is time for, and the story from an empty folder to the page."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from codednet.cli.demo import MINUTES, QUICK_MINUTES, plan, summarise
from codednet.cli.main import main
from codednet.training import load_recipe

IMAGES = 10_800


def test_a_fast_machine_trains_for_all_epochs_of_the_recipe():
    recipe = load_recipe("fashion-mini")
    found = plan(recipe, IMAGES, 1e6, quick=True)
    assert found.epochs == recipe.optim.epochs
    assert "all 10 epochs of the recipe" in found.sentence


@pytest.mark.parametrize("quick", [False, True])
def test_a_slower_machine_trains_for_fewer_epochs_that_fit_and_says_so(quick):
    minutes = QUICK_MINUTES if quick else MINUTES
    for pace in (700.0, 900.0, 1100.0):
        found = plan(load_recipe("fashion-mini"), IMAGES, pace, quick)
        assert 2 * found.epochs * IMAGES / pace < 60 * minutes
        if found.epochs < 10:
            assert f"to end within {minutes} minutes, both networks train for {found.epochs} " in found.sentence
    assert plan(load_recipe("fashion-mini"), IMAGES, 700, True).epochs < 10


def test_epochs_never_fall_as_machines_become_faster_or_time_longer():
    recipe = load_recipe("fashion-mini")
    counts = [[plan(recipe, IMAGES, pace, quick).epochs for pace in range(50, 5000, 50)] for quick in (True, False)]
    assert all(epochs == sorted(epochs) for epochs in counts)
    assert all(short <= long for short, long in zip(*counts, strict=True))


def test_a_machine_that_is_too_slow_trains_for_one_epoch_and_says_so():
    found = plan(load_recipe("fashion-mini"), IMAGES, 20.0, quick=True)
    assert found.epochs == 1
    assert found.sentence.startswith("about 20 images a second is too slow for 3 minutes: both networks train for one")


def test_what_could_not_be_measured_is_none():
    assert set(vars(summarise([])).values()) == {None}


def test_a_folder_of_another_training_is_refused(finished_run, tmp_path, capsys):
    shutil.copytree(finished_run, tmp_path / "coded")
    assert main(["demo", "-o", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert f"'{tmp_path / 'coded'}' holds another training than the demo's: give another folder with -o." in said.err
    assert said.out == ""


@pytest.fixture
def short_recipe(quick: list[str], tmp_path: Path) -> Path:
    """The demo's recipe on pictures for which a training takes seconds."""
    lines: dict[str, list[str]] = {}
    for option in quick:
        owner, _, rest = option.removeprefix("--").partition(".")
        lines.setdefault(owner, []).append(
            "  " + rest.replace("-", "_", rest.partition("=")[0].count("-")).replace("=", ": ")
        )
    lines["model"] = ["  name: coded_resnext20_10x4d"]
    path = tmp_path / "short.yaml"
    path.write_text("\n".join(line for owner, rows in lines.items() for line in (f"{owner}:", *rows)) + "\n")
    return path


def demo(recipe: Path, folder: Path) -> subprocess.Popen:
    code = f"import codednet.cli.demo as demo; demo.RECIPE = {str(recipe)!r}; from codednet.cli.main import main; "
    arguments = ["demo", "-o", str(folder), "--json"]
    return subprocess.Popen(
        [sys.executable, "-c", f"{code}raise SystemExit(main({arguments!r}))"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_interrupted_the_same_command_goes_on_to_the_page(short_recipe, tmp_path):
    folder = tmp_path / "demo"
    first = demo(short_recipe, folder)
    while not (folder / "coded" / "results" / "train.json").exists():
        assert first.poll() is None, first.stderr.read()
        time.sleep(0.05)
    first.send_signal(signal.SIGINT)
    _, said = first.communicate(timeout=60)
    assert first.returncode == 130
    assert f"the same command goes on: codednet demo -o {folder}" in said
    trained = (folder / "coded" / "results" / "train.json").read_text()

    second = demo(short_recipe, folder)
    out, said = second.communicate(timeout=300)
    assert second.returncode == 0, said
    assert "going on with the demo" in said
    assert (folder / "coded" / "results" / "train.json").read_text() == trained
    found = json.loads(out)
    assert Path(found["page"]).read_text().startswith("<!DOCTYPE html>")
    record = json.loads((folder / "coded" / "results" / "accuracy.json").read_text())["record"]
    assert found["accuracy"] == record["accuracy"]["mean"]
    assert found["plain_accuracy"] == record["twin"]["accuracy"]["mean"]
    assert all(0 <= found[name] <= 1 for name in ("last_decoder", "detector_f1", "one_class_parameters", "ece_after"))
