from pathlib import Path
from types import SimpleNamespace

import pytest
import timm
import torch
from huggingface_hub import ModelCard

import codednet
from codednet import CodednetError
from codednet.models import CodedResNeXt, create_model


def test_pretrained_folder_holds_both_files_and_a_card(tmp_path: Path, small, images) -> None:
    small.save_pretrained(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "config.json", "model.safetensors"]
    for loaded in (CodedResNeXt.from_pretrained(tmp_path), codednet.load(tmp_path)):
        assert loaded.config == small.config
        assert torch.equal(loaded(images), small(images))


def test_card_says_what_the_network_is(tmp_path: Path) -> None:
    create_model("coded_resnext20_10x4d", class_names=list("abcdefghij")).save_pretrained(tmp_path)
    card = ModelCard.load(tmp_path / "README.md")
    assert card.data.library_name == "codednet"
    assert card.data.pipeline_tag == "image-classification"
    for text in ("300,064 parameters", "10 classes", "| `layer3.1` | 3/10 | 10 |", "Classes: a, b,", "classes=['a']"):
        assert text in card.content
    CodedResNeXt(create_model("coded_resnext20_10x4d").config.narrowed([1])).save_pretrained(tmp_path / "one")
    assert "cut to some of the classes" in (tmp_path / "one" / "README.md").read_text()


def test_card_names_the_repository_it_is_pushed_to(small) -> None:
    assert 'codednet.load("me/mine")' in str(small.generate_model_card(repo_id="me/mine"))


def test_timm_loads_what_we_save_words_and_cuts_included(tmp_path: Path, small, images) -> None:
    part = CodedResNeXt(small.config.narrowed([3, 5])).eval()
    for model in (small, part):
        codednet.save(model, tmp_path)
        loaded = timm.create_model(f"local-dir:{tmp_path}", pretrained=True).eval()
        assert loaded.config == model.config
        assert torch.equal(loaded(images), model(images))


def test_timm_gives_a_saved_network_other_classes(tmp_path: Path, small, images) -> None:
    codednet.save(small, tmp_path)
    loaded = timm.create_model(f"local-dir:{tmp_path}", pretrained=True, num_classes=4)
    assert loaded(images).shape == (3, 4)
    assert loaded.codes[0].num_classes == 4
    assert torch.equal(loaded.layer2[0].conv3.weight, small.layer2[0].conv3.weight)


def test_the_hub_cannot_be_asked_offline(monkeypatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(CodednetError, match="'nobody/nothing' is no folder, and the hub does not give it"):
        codednet.load("nobody/nothing")


def test_pushing_uploads_both_files_and_the_card(small, monkeypatch) -> None:
    uploads = []

    class Hub:
        """The hub's side of an upload."""

        def __init__(self, token: str | None) -> None:
            pass

        def create_repo(self, repo_id: str, **_: object) -> SimpleNamespace:
            return SimpleNamespace(repo_id=repo_id)

        def upload_folder(self, repo_id: str, folder_path: Path, **_: object) -> str:
            uploads.append({path.name: path.read_bytes() for path in folder_path.iterdir()})
            return f"https://hub/{repo_id}"

    monkeypatch.setattr("huggingface_hub.hub_mixin.HfApi", Hub)
    assert small.push_to_hub("me/mine") == "https://hub/me/mine"
    assert sorted(uploads[0]) == ["README.md", "config.json", "model.safetensors"]
    assert b'codednet.load("me/mine")' in uploads[0]["README.md"]
