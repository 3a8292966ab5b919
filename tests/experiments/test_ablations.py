"""A sweep: what its trainings differ in, what each is worth, and which are repeats of each other."""

import shutil
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from PIL import Image

import codednet
from codednet import Code, CodednetError
from codednet.experiments import Subject, find
from codednet.models import CodedResNeXt
from codednet.runs import open_run

ABLATIONS = find("ablations")


def change(folder, before: str, after: str) -> None:
    text = (folder / "config.yaml").read_text()
    assert before in text
    (folder / "config.yaml").write_text(text.replace(before, after))


def poorer(folder) -> None:
    """The run's network with its classifier turned round, and with codes of which each breaks another rule."""
    model = open_run(folder).load_model()
    even = np.array([np.roll([1] * 5 + [0] * 5, shift) for shift in range(10)])
    apart: list[set[int]] = []
    for one in combinations(range(10), 3):
        apart += [set(one)] * (len(apart) < 10 and all(len(other & set(one)) < 2 for other in apart))
    uneven = np.array([[int(branch in one) for branch in range(10)] for one in apart])
    network = CodedResNeXt(replace(model.config, codes=(Code(even), Code(uneven))))
    network.load_state_dict(model.state_dict() | {"fc.weight": model.fc.weight.roll(1, 0)})
    network.pretrained_cfg = dict(model.pretrained_cfg)
    codednet.save(network.eval(), folder / "model")


@pytest.fixture(scope="module")
def sweep(finished_run, twin_run, tmp_path_factory):
    """Two repeats, the second with other weights and poor codes; another mu; a plain training; and one begun."""
    folder = tmp_path_factory.mktemp("sweep")
    for name in "abcde":
        shutil.copytree(twin_run if name == "d" else finished_run, folder / name)
    change(folder / "b", "\nseed: 0", "\nseed: 1")
    poorer(folder / "b")
    change(folder / "c", "mu: 6.0", "mu: 2.0")
    (folder / "e" / "results" / "train.json").unlink()
    return folder


@pytest.fixture(scope="module")
def found(sweep, finished_run):
    subject = Subject(open_run(finished_run), sweep=sweep, device="cpu")
    return ABLATIONS.measure(subject, ABLATIONS.options())


def test_settings_are_the_fields_that_differ_and_mean_something(found):
    assert [one.run for one in found.runs] == ["a", "b", "c", "d"]
    fields = ("seed", "model.coded", "coding.mu", "optim.epochs")
    assert {one.run: tuple(one.settings[name] for name in fields) for one in found.runs} == {
        "a": (0, "true", 6.0, 3),
        "b": (1, "true", 6.0, 3),
        "c": (0, "true", 2.0, 3),
        "d": (0, "false", None, 2),
    }
    assert set(found.fields) == set(fields)
    assert found.unfinished == ("e",)


@torch.no_grad()
def test_each_training_is_worth_what_its_own_network_says_of_the_test_images(found, sweep, record, test_batch):
    images, labels = test_batch
    for one in found.runs:
        model = open_run(sweep / one.run).load_model()
        logits, energies = model.trace(images)
        assert one.accuracy == pytest.approx(float((logits.argmax(1) == labels).double().mean()), abs=1e-12)
        if one.run == "d":
            assert (one.decoders, one.detectors, one.codes) == (None, None, ())
            continue
        for decoder, rows, code in zip(one.decoders, energies, model.codes, strict=True):
            named = torch.cdist(rows.double(), torch.tensor(code.words).double()).argmin(1)
            assert decoder.accuracy == pytest.approx(float((named == labels).double().mean()), abs=1e-12)
    a, b, c, _ = found.runs
    assert a.detectors == c.detectors == record("detectors").families["extracted"].in_distribution
    assert b.accuracy != a.accuracy


def test_a_code_meets_the_rules_if_its_words_are_as_far_apart_and_as_even_as_the_usual_ones(found):
    usual, other = found.runs[0].codes, found.runs[1].codes
    assert [(one.min_distance, one.usual_distance, one.meets_rules) for one in usual] == [(4, 4, True), (4, 4, True)]
    assert all(one.spread == one.usual_spread <= 1 for one in usual)
    near, uneven = other
    assert (near.min_distance, near.spread, near.meets_rules) == (2, 0, False)
    assert (uneven.min_distance, uneven.spread > 1, uneven.meets_rules) == (4, True, False)
    assert (near.usual_distance, uneven.usual_spread) == (4, usual[1].spread)


def test_trainings_that_differ_in_the_seed_alone_are_one_setting_with_its_mean_and_range(found):
    assert [one.runs for one in found.settings] == [("a", "b"), ("c",), ("d",)]
    both = found.settings[0]
    assert dict(both.settings) == {"model.coded": "true", "coding.mu": 6.0, "optim.epochs": 3}
    a, b = found.runs[:2]

    pairs = [(both.accuracy, a.accuracy, b.accuracy), (both.f1, a.detectors.f1, b.detectors.f1)]
    for one, two in zip(a.decoders, b.decoders, strict=True):
        pairs.append((both.decoders[one.block], one.accuracy, two.accuracy))
    for found_range, *two in pairs:
        mean_low_high = sum(two) / 2, min(two), max(two)
        assert (found_range.mean, found_range.low, found_range.high) == pytest.approx(mean_low_high, abs=1e-12)
    assert [one.meets_rules for one in found.settings] == [False, True, None]
    assert (found.settings[2].decoders, found.settings[2].f1) == (None, None)


@pytest.mark.parametrize("other", ["splits", "images"])
def test_a_training_on_other_data_is_refused(other, finished_run, pictures, tmp_path):
    folder = tmp_path / "sweep" / "one"
    shutil.copytree(finished_run, folder)
    if other == "splits":
        change(folder, "split_seed: 0", "split_seed: 1")
    else:
        shutil.copytree(pictures, tmp_path / "pictures")
        Image.new("RGB", (20, 20), (1, 2, 3)).save(tmp_path / "pictures" / "test" / "class3" / "1.png")
        change(folder, str(pictures), str(tmp_path / "pictures"))
    subject = Subject(open_run(finished_run), sweep=tmp_path / "sweep", device="cpu")
    with pytest.raises(CodednetError, match=rf"must see the same data as .*, and the {other} of .*one' are others\."):
        ABLATIONS.measure(subject, ABLATIONS.options())
