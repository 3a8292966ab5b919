"""`codednet extract` writes the network that is cut out in memory, and counts what the files hold."""

import json
import shutil
import struct
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import codednet
from codednet.cli.main import main
from codednet.runs import open_run

KEPT = ["class3", "class0"]
QUICK = ["--rounds=0", "--threads=1", "--device=cpu"]


def call(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main(["extract", *map(str, arguments)])
    return status, *capsys.readouterr()


@pytest.fixture(scope="module")
def run(finished_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy that networks are cut out of."""
    return shutil.copytree(finished_run, tmp_path_factory.mktemp("extract") / "run")


@pytest.fixture(scope="module")
def found(run: Path) -> dict[str, Any]:
    """The JSON object of a network of two classes, one named and one numbered, with times."""
    with redirect_stdout(StringIO()) as out:
        assert main(["extract", str(run), "--classes", "class3", "0", "--rounds=20", *QUICK[1:], "--json"]) == 0
    return json.loads(out.getvalue())


@pytest.fixture(scope="module")
def images() -> Tensor:
    return torch.randn(6, 3, 16, 16, generator=torch.Generator().manual_seed(0))


def products(network: nn.Module, image: Tensor) -> int:
    """Multiply-adds of all convolutions and the classifier, from their shapes."""
    counts: list[int] = []

    def count(module: nn.Module, _inputs: Any, output: Tensor) -> None:
        if isinstance(module, nn.Conv2d | nn.Linear):
            counts.append(output.numel() * module.weight[0].numel())

    for module in network.modules():
        module.register_forward_hook(count)
    network(image)
    return sum(counts)


def test_json_is_one_object_which_the_run_keeps(run, found):
    assert (found["classes"], found["indices"]) == (KEPT, [3, 0])
    assert Path(found["folder"]) == run / "extracted" / "class3+class0"
    assert json.loads((run / "results" / "extract-class3+class0.json").read_text()) == found


@torch.no_grad()
def test_the_folder_holds_what_is_cut_out_in_memory(run, found, images):
    written, whole = codednet.load(found["folder"]), open_run(run).load_model()
    cut = codednet.extract(whole, KEPT)
    assert written.config == cut.config
    assert written.config.class_names == tuple(KEPT)
    torch.testing.assert_close(dict(written.state_dict()), dict(cut.state_dict()), rtol=0, atol=0)
    torch.testing.assert_close(written(images), cut(images))
    named = {name: code.words[[3, 0]].any(0) for name, code in zip(whole.coded_blocks, whole.codes, strict=True)}
    for block, kept in found["blocks"].items():
        assert kept == {"kept": np.flatnonzero(named.get(block, np.ones(10))).tolist(), "branches": 10}


def test_parameters_and_bytes_are_those_of_networks_and_files(run, found):
    for name, folder in (("whole", run / "model"), ("part", Path(found["folder"]))):
        assert found[name]["parameters"] == sum(p.numel() for p in codednet.load(folder).parameters())
        content = (folder / "model.safetensors").read_bytes()
        (header,) = struct.unpack("<Q", content[:8])
        assert found[name]["bytes"] == len(content) - 8 - header
    for cost in ("parameters", "bytes", "multiply_adds"):
        assert found["part"][cost] < found["whole"][cost]


def test_times_are_given_and_a_ratio_is_steady_or_refused(found):
    assert set(found["latency_ratios"]) == set(found["whole"]["latencies"]) == {"1", "32"}
    assert (found["device"], found["threads"], found["image_size"]) == ("cpu", 1, [16, 16])
    for network in ("whole", "part"):
        assert all(0 < one["seconds"] <= one["p95"] for one in found[network]["latencies"].values())
    for one in found["latency_ratios"].values():
        assert (one["ratio"] is None) == one["note"].startswith("no ratio: the middle half of the rounds spans")
        assert one["ratio"] is None or one["spread"] <= 0.05 * one["ratio"]


def test_a_plain_network_is_cut_along_the_words_of_a_coded_one_that_is_named(run, twin_run, images, tmp_path, capsys):
    arguments = [twin_run, "--classes", *KEPT, "-o", tmp_path / "part", *QUICK]
    status, out, said = call(capsys, *arguments)
    assert (status, out, said.count("\n")) == (2, "", 1)
    assert "no block of resnext20_10x4d is coded" in said
    assert said.endswith(" name a coded run with --codes-from.\n")

    status, out, said = call(capsys, *arguments, "--codes-from", run, "--json")
    assert (status, said) == (0, "")
    costs, part, whole = json.loads(out), codednet.load(tmp_path / "part"), open_run(twin_run).load_model()
    cut = codednet.extract(whole, KEPT, codes=open_run(run).load_model().codes)
    torch.testing.assert_close(part(images), cut(images))
    assert costs["whole"]["multiply_adds"] == products(whole, images[:1])
    assert costs["part"]["multiply_adds"] == products(part, images[:1])
    assert costs["latency_ratios"] == costs["part"]["latencies"] == {}


def test_people_read_what_is_kept_what_it_costs_and_where_it_lies(run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    config = shutil.copytree(run / "model", tmp_path / "net") / "config.json"
    config.write_text(config.read_text().replace('"class1"', '"[big] cat [/old]"'))
    out = call(capsys, "net", "--classes", "[big] cat [/old]", "--rounds=20", *QUICK[1:])[1]
    assert out.startswith("extracted/big-cat-old: [big] cat [/old], cut out of net\nBranches kept")
    words = ["layer1.0", "10 of 10", "all", "3 of 10", "parameters", "multiply-adds", "weights in the file", "share"]
    words += ["1 image, median", "32 images, 95th percentile", "Times are of 16x16 images on cpu (1 thread), both"]
    assert [word for word in words if word not in out] == []
    assert codednet.load(tmp_path / "extracted" / "big-cat-old").num_classes == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "must name the classes to keep, as in `codednet extract RUN --classes cat dog`."),
        (["--classes", "clas3"], "no class is called 'clas3'; did you mean 'class3'?"),
        (["--classes", "class3", "3"], "class 'class3' is asked for twice: give every class once."),
        (["--classes", "10"], "classes have indices from 0 to 9; got 10."),
        (["--classes", "class3", "0"], "class3+class0' exists and is no empty folder: give another one with -o."),
        (["--classes", "1", "--codes-from", "RUN"], "obeys codes of its own: codes are given for plain networks."),
        (["--classes", "1", "--rounds=5"], "rounds must be 20 or more, or 0 for none; got 5."),
        (["--classes", "1", "--threads=-1"], "threads must be 1 or more, or 0 for torch's own choice; got -1."),
        (["--classes", "1", "--device=abacus"], "there is no device 'abacus' here"),
    ],
)
def test_wrong_input_exits_with_2_and_one_sentence_and_writes_nothing(run, found, arguments, message, capsys):
    before = sorted(run.rglob("*"))
    status, out, said = call(capsys, run, *[str(run) if one == "RUN" else one for one in arguments])
    assert (status, out, said.count("\n")) == (2, "", 1)
    assert message.replace("RUN", str(run)) in said
    assert sorted(run.rglob("*")) == before
