"""`codednet benchmark`: a row for all that is asked, and a ratio only where the rounds agree."""

import json

import pytest
import torch

import codednet
from codednet.cli.main import main

SMALL = "coded_resnext20_10x4d"
QUICK = ["--models", SMALL, "--precisions", "float32", "--batch=4", "--rounds=4", "--threads=1", "--device=cpu"]


def call(capsys, *arguments: str) -> tuple[int, str, str]:
    status = main(["benchmark", *QUICK, *arguments])
    return status, *capsys.readouterr()


def test_json_is_one_object_with_a_row_for_all_that_is_asked(capsys):
    options = ["--precisions", "bf16", "--inference-batches", "1", "2", "--naive", "--limit=1000", "--json"]
    status, out, said = call(capsys, *options)
    found = json.loads(out)
    assert status == 0
    rows = [(row["precision"], row["what"], row["batch"]) for row in found["rows"]]
    measures = [("training", 4), ("training, naive form", 4), ("inference", 1), ("inference", 2)]
    measures += [("peak memory of a training step", 4)]
    assert rows == [(precision, *one) for precision in ("float32", "bf16") for one in measures]
    assert {row["model"] for row in found["rows"]} == {SMALL}
    assert said.count(SMALL) == len(rows)
    assert found["machine"]["torch"] == torch.__version__
    assert (found["machine"]["threads"], found["machine"]["limit"]) == (1, 1000)
    for row in found["rows"]:
        assert min(row["plain"], row["coded"], row["ratio"]) > 0
        assert (row["note"], row["spread"] >= 0) == ("", True)


def test_peak_memory_holds_the_gradients_and_its_ratio_is_the_quotient(capsys):
    first, second = (json.loads(call(capsys, "--modes", "memory", "--json")[1])["rows"][0] for _ in range(2))
    assert first == second  # no times, so no noise
    assert first["ratio"] == first["coded"] / first["plain"]
    for name, model in (("plain", SMALL.removeprefix("coded_")), ("coded", SMALL)):
        assert first[name] > sum(p.nbytes for p in codednet.create_model(model).parameters())


def test_a_ratio_that_its_rounds_do_not_agree_on_is_not_shown(capsys):
    only = ["--modes", "inference", "--inference-batches", "1", "--limit=0"]
    (row,) = json.loads(call(capsys, *only, "--json")[1])["rows"]
    assert (row["ratio"], row["spread"]) == (None, None)
    why = "over the limit of 0%; run again on an idle machine, or with more rounds"
    assert row["note"].startswith("no ratio: the middle half of the rounds spans")
    assert row["note"].endswith(why)
    assert why in call(capsys, *only)[1]


def test_people_read_a_line_for_each_measure(capsys):
    status, out, said = call(capsys, "--modes", "inference", "memory", "--inference-batches", "2", "--limit=1000")
    times, memory = out.splitlines()
    assert (status, said) == (0, "")
    assert all(word in times for word in (SMALL, "float32", "inference", "batch   2", "ms", "middle half"))
    assert all(word in memory for word in (SMALL, "peak memory of a training step", "batch   4", "MB"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--models coded_resnext20", "coded_resnext20_10x4d; got 'coded_resnext20'."),
        ("--models resnext20_10x4d", "coded_resnext20_10x4d; got 'resnext20_10x4d'."),
        ("--modes train", "modes must be among training, inference, memory; got 'train'."),
        ("--precisions float16", "precisions must be among float32, bf16; got 'float16'."),
        ("--rounds=2", "a comparison needs at least 4 rounds for its quartiles, got 2."),
        ("--batch=0", "batches must hold 1 image or more; got 0."),
        ("--inference-batches 0", "batches must hold 1 image or more; got 0."),
        ("--threads=-1", "threads must be 1 or more, or 0 for torch's own choice; got -1."),
        ("--device=abacus", "there is no device 'abacus' here"),
        ("--inference-batches few", "--inference-batches must be"),
    ],
)
def test_wrong_input_exits_with_2_and_one_sentence(arguments, message, capsys):
    status, out, said = call(capsys, *arguments.split())
    assert (status, out, said.count("\n"), message in said) == (2, "", 1, True), said
