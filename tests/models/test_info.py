import json
from pathlib import Path

import pytest

import codednet
from codednet import CodednetError
from codednet.cli.info import InfoConfig, run
from codednet.models import CodedResNeXt, create_model


def info_of(model: str, capsys: pytest.CaptureFixture[str], **options: int) -> dict:
    assert run(InfoConfig(model=model, json=True, **options)) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def test_json_holds_blocks_codes_sizes_and_paths(capsys) -> None:
    info = info_of("coded_resnext29_10x11d", capsys)
    assert (info["classes"], info["image_size"], info["parameters"]) == (10, 32, 4_638_926)
    assert sum(info["parameters_by_stage"].values()) == info["parameters"]
    rates = {block["name"]: (block["active"], block["branches"], block["present"]) for block in info["blocks"]}
    assert rates["layer1.0"] == (10, 10, 10)
    assert rates["layer3.2"] == (3, 10, 10)
    assert [code["blocks"] for code in info["codes"]] == [[f"layer{stage}.{i}" for i in range(3)] for stage in (2, 3)]
    assert len(info["class_paths"]) == 10
    path = info["class_paths"][4]
    assert path["label"] == "4"
    assert round(100 * path["parameters_share"], 1) == 46.3
    assert round(100 * path["multiply_adds_share"], 1) == 61.7


def test_multiply_adds_follow_the_image_size(capsys) -> None:
    small = info_of("resnext20_10x4d", capsys, image_size=16)
    large = info_of("resnext20_10x4d", capsys, image_size=32)
    classifier = small["parameters_by_stage"]["fc"]
    assert large["multiply_adds"] - classifier == 4 * (small["multiply_adds"] - classifier)
    with pytest.raises(CodednetError, match="image_size=0"):
        run(InfoConfig(model="resnext20_10x4d", image_size=0))


def test_saved_and_cut_networks_are_described_by_their_names(tmp_path: Path, capsys) -> None:
    full = create_model("coded_resnext20_10x4d", class_names=list("abcdefghij"), in_chans=1)
    codednet.save(CodedResNeXt(full.config.narrowed([2, 7])), tmp_path)
    info = info_of(str(tmp_path), capsys)
    assert [path["label"] for path in info["class_paths"]] == ["c", "h"]
    assert all(block["present"] < 10 for block in info["blocks"] if block["active"] < 10)
    assert info["class_paths"][0]["parameters_share"] < 1


@pytest.mark.parametrize(
    ("model", "lines"),
    [
        (
            "coded_resnext20_10x4d",
            ["10 classes, 0.300 M parameters", "layer2.0 to layer2.1", "3/10", "each of the 10", "46.7%"],
        ),
        ("resnext20_10x4d", ["10/10", "No class paths: no block is coded"]),
    ],
)
def test_tables_say_the_same_to_people(model: str, lines: list[str], capsys) -> None:
    assert run(InfoConfig(model=model)) == 0
    out = capsys.readouterr().out
    for line in lines:
        assert line in out


def test_unknown_models_suggest_the_nearest() -> None:
    with pytest.raises(CodednetError, match="did you mean 'coded_resnext20_10x4d'"):
        run(InfoConfig(model="coded_resnext20_10x4"))
