"""`codednet detectors`: every number by scikit-learn, from networks that `codednet.extract` cuts one by one."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn import metrics

import codednet
from codednet.cli.main import main
from codednet.data import open_data
from codednet.paths.strangers import stranger_loader
from codednet.runs import open_run


def call(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main(["detectors", *map(str, arguments), "--device=cpu"])
    return status, *capsys.readouterr()


@pytest.fixture(scope="module")
def run(finished_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy whose results the tests share; each asks for what it needs."""
    torch.set_num_threads(1)
    return shutil.copytree(finished_run, tmp_path_factory.mktemp("detectors") / "run")


@pytest.fixture(scope="module")
def scores(run: Path, twin_run: Path, noise: Path) -> dict[str, dict[str, np.ndarray]]:
    """By split: the labels, and of each family a row a class and a column an image."""
    model, twin, config = open_run(run).load_model(), open_run(twin_run).load_model(), open_run(run).config().data
    parts = [codednet.extract(model, label) for label in range(10)]
    twin_parts = [codednet.extract(twin, label, codes=model.codes) for label in range(10)]
    loaders = {split: open_data(config, 3).eval_loader(split, 64) for split in ("tune-fit", "test")}
    found = {}
    for split, loader in {**loaders, "noise": stranger_loader(str(noise), None, config, model)}.items():
        (batch,) = loader
        with torch.no_grad():
            cut, twin_cut = (torch.cat([one(batch.images) for one in some], 1) for some in (parts, twin_parts))
            tables = {"extracted": cut, "whole": model(batch.images), "baseline_whole": twin(batch.images)}
        tables |= {"baseline_extracted": twin_cut, "labels": batch.labels}
        found[split] = {name: table.double().numpy().T for name, table in tables.items()}
    return found


def quality(own: np.ndarray, values: np.ndarray, threshold: float) -> dict[str, float]:
    found = metrics.precision_recall_fscore_support(own, values >= threshold, average="binary", zero_division=0)
    names, average = ("precision", "recall", "f1", "average_precision"), metrics.average_precision_score(own, values)
    return dict(zip(names, (*found[:3], average), strict=True))


def test_every_number_is_scikit_learn_s(run, twin_run, noise, scores, capsys):
    status, out, _ = call(capsys, run, "--baseline", twin_run, "--against", noise, "--json")
    record, truth = json.loads(out)["record"], scores["test"]["labels"]
    assert (status, record["fit_on"], {"labels", *record["families"]}) == (0, "tune-fit", set(scores["test"]))
    assert (record["images"], record["strangers"]) == ({"fit": 20, "test": 40}, {str(noise): 12})
    for name, family in record["families"].items():
        (fit, test, strange), pairs = (scores[split][name] for split in ("tune-fit", "test", "noise")), []
        for label, one in enumerate(family["detectors"]):
            own = scores["tune-fit"]["labels"] == label
            best = max((metrics.f1_score(own, fit[label] >= value), value) for value in fit[label])[1]
            assert (one["label"], one["threshold"]) == (f"class{label}", pytest.approx(best, abs=1e-5))
            limit = best - 1e-5  # the same networks, cut and run in another way, round otherwise
            mixed = np.append(test[label][truth == label], strange[label])
            pairs.append((one["in_distribution"], one["out_of_distribution"][str(noise)]))
            assert pairs[-1][0] == pytest.approx(quality(truth == label, test[label], limit))
            assert pairs[-1][1] == pytest.approx(quality(np.arange(16) < 4, mixed, limit))
        means = family["in_distribution"], family["out_of_distribution"][str(noise)]
        for mean, rows in zip(means, zip(*pairs, strict=True), strict=True):
            assert mean == pytest.approx({key: np.mean([row[key] for row in rows]) for key in mean})


@pytest.mark.parametrize(("target", "other"), [("precision", "recall"), ("recall", "precision")])
def test_a_target_is_met_on_the_tune_split_with_the_most_of_the_other(run, scores, target, other, capsys):
    found = json.loads(call(capsys, run, f"--{target}=0.5", "--json")[1])["record"]["families"]["extracted"]
    for label, one in enumerate(found["detectors"]):
        values, own = scores["tune-fit"]["extracted"][label], scores["tune-fit"]["labels"] == label
        best = max((q[other], v) for q, v in ((quality(own, values, v), v) for v in values) if q[target] >= 0.5)[1]
        assert one["threshold"] == pytest.approx(best, abs=1e-5)


def test_the_run_keeps_the_thresholds_last_asked_for_and_measures_once(run, capsys):
    found, kept = [], []
    for arguments in ([], ["--recall=0.9"], []):
        found.append(json.loads(call(capsys, run, *arguments, "--json")[1]))
        kept.append(json.loads((run / "results" / "thresholds.json").read_text()))
        detectors = found[-1]["record"]["families"]["extracted"]["detectors"]
        assert kept[-1]["thresholds"] == [one["threshold"] for one in detectors]
        assert kept[-1]["weights"] == open_run(run).weights_digest()
    assert (found[0], kept[0]) == (found[2], kept[2])  # also in how long measuring took
    assert [one["recall"] for one in kept] == [None, 0.9, None]
    assert json.loads((run / "results" / "detectors.json").read_text()) == found[2]


def test_other_weights_are_measured_anew_and_told_which_precision_they_reach(run, tmp_path, capsys):
    before = json.loads(call(capsys, run, "--json")[1])["record"]
    model = (other := open_run(shutil.copytree(run, tmp_path / "run"))).load_model()
    torch.nn.init.normal_(model.fc.weight, generator=torch.Generator().manual_seed(0))
    codednet.save(model, other.model)
    assert json.loads(call(capsys, other.path, "--json")[1])["record"] != before
    status, out, said = call(capsys, other.path, "--precision=1.0")
    found = re.search(r"no threshold (?:that )?reaches precision 1\.0.* at most (0\.\d+)\. Ask for less\.\n$", said)
    assert (status, out, said.count("\n")) == (2, "", 1)
    assert call(capsys, other.path, f"--precision={float(found[1]) - 1e-4}")[0] == 0


def test_without_a_tune_split_thresholds_are_fitted_on_training_images(run, tmp_path, capsys):
    config = shutil.copytree(run, tmp_path / "run") / "config.yaml"
    config.write_text(config.read_text().replace("tune: 0.35", "tune: 0.0"))
    why = "the run has no tune split to fit thresholds on. Fit on the training images instead, as the paper did:"
    assert call(capsys, config.parent, "--fit-on=tune-fit") == (2, "", f"codednet detectors: {why} --fit-on train.\n")
    assert "on 120 images of train, measured on 40 test images." in call(capsys, config.parent, "--fit-on=train")[1]


def test_people_read_the_hardest_class_first(run, twin_run, noise, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(shutil.copytree(noise, tmp_path / "[old]").parent)
    out = call(capsys, run, "--baseline", twin_run, "--against", "[old]")[1]
    words = ["Thresholds of the largest F1 on 20 images of tune-fit", "and 12 of [old].", "against [old]", "recall"]
    words += ["extracted networks", "whole network's logits", "plain twin's logits", "cut out of the plain twin"]
    assert [word for word in words if word not in out] == []
    f1 = [float(row.split("│")[5].strip(" %")) for row in out.splitlines() if row.startswith("│ class")]
    assert (len(f1), f1) == (10, sorted(f1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("{noise}", "is no run folder: it has no config.yaml."),
        ("{twin}", "the network is plain; train the coded one by the same recipe: codednet train"),
        ("{run} --against mnits", "no data set or folder is called 'mnits': did you mean 'mnist'?"),
        ("{run} --against imagefolder", "needs the folder of its data: give it with --against-root."),
        ("{run} --against {noise} {noise}", "came twice."),
        ("{run} --against {pictures}/test", "holds images of the network's own classes: name another data set"),
        ("{run} --precision=1.5", "precision must be above 0 and at most 1; got 1.5."),
        ("{run} --precision=0.9 --recall=0.9", "not to both: give one of them."),
        ("{run} --negatives=some", "negatives must be 'paper', 'all' or a number a positive, at least 1; got 'some'."),
        ("{run} --fit-on=tun-fit", "thresholds are not fitted on 'tun-fit': did you mean 'tune-fit'?"),
        ("{run} --baseline {run}", "the baseline must be a plain network, as --model.coded=false trains"),
    ],
)
def test_wrong_input_exits_with_2_and_one_sentence(run, twin_run, noise, pictures, arguments, message, capsys):
    words = arguments.format(run=run, twin=twin_run, noise=noise, pictures=pictures).split()
    status, out, said = call(capsys, *words)
    assert (status, out, said.count("\n"), message in said) == (2, "", 1, True), said
