"""`evaluate` counts as scikit-learn does."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from sklearn import metrics

from codednet.cli.main import main
from codednet.data import open_data
from codednet.nn import decode
from codednet.runs.folder import open_run


@pytest.fixture(scope="module")
def run(finished_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shutil.copytree(finished_run, tmp_path_factory.mktemp("evaluated") / "run")


def test_every_number_is_scikit_learn_s(run: Path, capsys) -> None:
    assert main(["evaluate", str(run), "--json", "--batch=16"]) == 0
    found = json.loads(capsys.readouterr().out)
    folder = open_run(run)
    model, data = folder.load_model(), open_data(folder.config().data, 3)
    (batch,) = data.eval_loader("test", 64)
    with torch.no_grad():
        trace = model.trace(batch.images)
    labels, predicted = batch.labels.numpy(), trace.logits.argmax(1).numpy()
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(labels, predicted))
    assert found["top5"] == pytest.approx(metrics.top_k_accuracy_score(labels, trace.logits.numpy(), k=5))
    assert found["confusion"] == metrics.confusion_matrix(labels, predicted).tolist()
    recalls = metrics.recall_score(labels, predicted, average=None)
    assert [row["accuracy"] for row in found["classes"]] == pytest.approx(recalls.tolist())
    for name, answers in zip(model.coded_blocks, decode(trace.energies, model.codes), strict=True):
        assert found["decoders"][name] == pytest.approx(metrics.accuracy_score(labels, answers.numpy()))
    assert json.loads((run / "results" / "evaluate-test.json").read_text())["record"] == found


def test_splits_are_apart_and_test_is_the_test_folder(run: Path, capsys) -> None:
    images = {}
    for split in ("test", "tune", "tune-fit", "tune-risk", "train"):
        assert main(["evaluate", str(run), "--split", split, "--json"]) == 0
        images[split] = json.loads(capsys.readouterr().out)["images"]
    assert images["test"] == 40
    assert images["tune-fit"] + images["tune-risk"] == images["tune"]
    assert images["tune"] + images["train"] == 120


def test_the_table_names_classes_and_decoders(run: Path, capsys) -> None:
    assert main(["evaluate", str(run)]) == 0
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("accuracy", "Early decoders", "layer2.0", "layer3.1", "class3"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "'nowhere' is no run folder"),
        (["{run}", "--split", "tset"], "did you mean 'test'"),
        (["{run}", "--root", "nowhere"], "nowhere"),
        (["{run}", "--device", "tpu9"], "there is no device 'tpu9' here"),
    ],
)
def test_wrong_arguments_are_one_sentence(run: Path, capsys, arguments: list[str], message: str) -> None:
    assert main(["evaluate", *(argument.format(run=run) for argument in arguments)]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.count("\n") == 1
