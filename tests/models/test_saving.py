import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

import codednet
from codednet import Code, CodednetError
from codednet.models import CodedResNeXt, create_model
from codednet.models.document import from_document, to_document, words_digest
from codednet.models.store import load_weights

OPTIONS = [
    ("coded_resnext20_10x4d", {}),
    ("coded_resnext20_10x4d", {"class_names": ["cat", "dog", "owl"], "in_chans": 1}),
    ("coded_resnext20_10x4d", {"shortcut": "free", "normalise": False, "drop_branch": 0.3, "global_pool": "max"}),
    ("coded_resnext20_10x4d", {"active": [10, 5, 7, 7, 3, 10], "num_classes": 25}),
    ("coded_resnext20_10x4d", {"num_classes": 0}),
    ("resnext20_10x4d", {"drop_path_rate": 0.2, "drop_rate": 0.1}),
    ("coded_resnext29_20x6d", {}),
]


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_config_survives_being_written(name: str, options: dict) -> None:
    config = create_model(name, **options).config
    assert from_document(json.loads(json.dumps(to_document(config)))) == config
    if config.num_classes > 2:
        part = config.narrowed([2, 0])
        assert from_document(json.loads(json.dumps(to_document(part)))) == part


@pytest.mark.parametrize(("name", "options"), OPTIONS[:-1])
def test_loaded_network_is_the_saved_one(tmp_path: Path, lively, name: str, options: dict) -> None:
    model = lively(create_model(name, **options)).eval()
    codednet.save(model, tmp_path / "m")
    loaded = codednet.load(tmp_path / "m")
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == ["config.json", "model.safetensors"]
    assert not loaded.training
    assert loaded.config == model.config
    assert loaded.pretrained_cfg == model.pretrained_cfg
    images = torch.randn(2, model.in_chans, 16, 16)
    assert torch.equal(loaded(images), model(images))


def test_cut_network_is_saved_and_loaded_like_any_other(tmp_path: Path, lively, images) -> None:
    part = lively(CodedResNeXt(create_model("coded_resnext20_10x4d").config.narrowed([4, 1]))).eval()
    codednet.save(part, tmp_path)
    loaded = codednet.load(tmp_path)
    assert loaded.config == part.config
    assert torch.equal(loaded(images), part(images))


def test_saving_takes_networks_in_channels_last_and_overwrites(tmp_path: Path, small, images) -> None:
    want = small(images)
    codednet.save(create_model("resnext20_10x4d"), tmp_path)
    codednet.save(small.to(memory_format=torch.channels_last), tmp_path)
    torch.testing.assert_close(codednet.load(tmp_path)(images), want)
    assert len(list(tmp_path.iterdir())) == 2


def test_loading_draws_no_random_numbers(tmp_path: Path, small) -> None:
    codednet.save(small, tmp_path)
    torch.manual_seed(1)
    want = torch.rand(3)
    torch.manual_seed(1)
    codednet.load(tmp_path)
    assert torch.equal(torch.rand(3), want)


def test_weights_carry_the_digest_of_the_words_and_no_pickle(tmp_path: Path, small) -> None:
    codednet.save(small, tmp_path)
    with safe_open(tmp_path / "model.safetensors", framework="pt") as file:
        assert file.metadata()["codednet_words"] == words_digest(small.config)
        assert set(file.keys()) == set(small.state_dict())


def test_digest_tells_words_apart_and_which_block_obeys_them(small) -> None:
    five, three = small.codes[0], small.codes[2]
    swapped = Code(five.words[::-1])
    digests = {
        words_digest(create_model("coded_resnext20_10x4d", codes=codes).config)
        for codes in (
            [None, five, three],
            [None, swapped, three],
            [five, swapped, three, three],
            [swapped, five, three, three],
        )
    }
    assert len(digests) == 4
    assert words_digest(small.config) in digests


def test_weights_of_other_words_are_refused(tmp_path: Path, small) -> None:
    codednet.save(small, tmp_path)
    path = tmp_path / "config.json"
    document = json.loads(path.read_text())
    words = document["model_args"]["network"]["codes"][0]["words"]
    words[0], words[1] = words[1], words[0]
    path.write_text(json.dumps(document))
    with pytest.raises(CodednetError, match=r"were trained under other code words .* config.json that was saved with"):
        codednet.load(tmp_path)
    other = create_model("coded_resnext20_10x4d", codes=[None, Code(small.codes[0].words[::-1]), small.codes[2]])
    with pytest.raises(CodednetError, match="other code words"):
        load_weights(other, tmp_path / "model.safetensors")


def _without_network(document: dict) -> None:
    del document["model_args"]


def _with_unknown(document: dict) -> None:
    document["model_args"]["network"]["num_clases"] = 3


def _without_stages(document: dict) -> None:
    del document["model_args"]["network"]["stages"]


def _with_short_code(document: dict) -> None:
    document["model_args"]["network"]["codes"][0]["words"].pop()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_without_network, "describes no codednet network"),
        (_with_unknown, "has no 'num_clases': did you mean 'num_classes'"),
        (_without_stages, "incomplete or of the wrong form: 'stages'"),
        (_with_short_code, "a word for each of the 10 classes; it has 9 words"),
    ],
)
def test_spoiled_configs_are_refused(tmp_path: Path, small, spoil, message: str) -> None:
    codednet.save(small, tmp_path)
    path = tmp_path / "config.json"
    document = json.loads(path.read_text())
    spoil(document)
    path.write_text(json.dumps(document))
    with pytest.raises(CodednetError, match=message):
        codednet.load(tmp_path)


def test_broken_and_missing_files_are_refused(tmp_path: Path, small) -> None:
    with pytest.raises(CodednetError, match="no folder, nor the hub's 'user/repo'"):
        codednet.load(tmp_path / "nowhere")
    with pytest.raises(CodednetError, match=r"no network can be read from .*config.json"):
        codednet.load(tmp_path)
    codednet.save(small, tmp_path)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(CodednetError, match="no weights can be read from"):
        codednet.load(tmp_path)
    weights.unlink()
    with pytest.raises(CodednetError, match="no weights can be read from"):
        codednet.load(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(CodednetError, match="is no JSON"):
        codednet.load(tmp_path)
    codednet.save(create_model("coded_resnext20_10x6d", codes=[None, *small.codes[::2]]), tmp_path / "wide")
    codednet.save(small, tmp_path)
    weights.write_bytes((tmp_path / "wide" / "model.safetensors").read_bytes())
    with pytest.raises(CodednetError, match="do not fit coded_resnext20_10x4d"):
        codednet.load(tmp_path)


def test_only_our_networks_are_saved(tmp_path: Path) -> None:
    with pytest.raises(CodednetError, match=r"only networks of codednet.create_model can be saved; got Linear"):
        codednet.save(torch.nn.Linear(2, 2), tmp_path)


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, small, monkeypatch) -> None:
    codednet.save(small, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("codednet.models.store.save_file", fail)
    with pytest.raises(OSError, match="disk full"):
        codednet.save(small, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
