"""timm's model contract, held by every coded network in its registry."""

import subprocess
import sys

import pytest
import timm
import torch
from timm.data import resolve_model_data_config
from timm.models import group_parameters, is_model_pretrained

import codednet.models
from codednet.errors import CodednetError

NAMES = timm.list_models("coded_*")


def images_for(name: str, batch: int = 2, channels: int = 3) -> torch.Tensor:
    size = 64 if "50_" in name else 16
    return torch.randn(batch, channels, size, size)


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def test_registry_holds_the_variants_and_no_twin() -> None:
    assert set(NAMES) == set(codednet.models.VARIANTS)
    assert timm.list_models(module="coded_resnext") == sorted(NAMES)
    assert not any(is_model_pretrained(name) for name in NAMES)
    assert set(codednet.models.TWINS) & set(timm.list_models()) == {"resnext50_32x4d"}


def test_importing_changes_no_name_of_timm_and_warns_of_nothing() -> None:
    script = """
import timm
from timm.models import _registry as registry
before = dict(registry._model_entrypoints), dict(registry._model_pretrained_cfgs)
import codednet.models
after = registry._model_entrypoints, registry._model_pretrained_cfgs
for old, new in zip(before, after):
    assert all(new[name] is value for name, value in old.items())
    assert all(name.startswith("coded_") for name in set(new) - set(old))
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_forward_is_features_then_head(name: str) -> None:
    model, images = timm.create_model(name).eval(), images_for(name)
    with torch.no_grad():
        logits = model(images)
        features = model.forward_features(images)
        pooled = model.forward_head(features, pre_logits=True)
    assert logits.shape == (2, model.num_classes)
    assert features.shape[:2] == (2, model.num_features)
    assert pooled.shape == (2, model.head_hidden_size)
    assert torch.equal(model.forward_head(features), logits)
    assert torch.equal(model.get_classifier()(pooled), logits)
    assert model.get_classifier(name_only=True) == model.pretrained_cfg["classifier"] == "fc"


def test_preprocessing_is_timms_and_first_conv_and_classifier_exist(name: str) -> None:
    model = timm.create_model(name)
    config = resolve_model_data_config(model)
    assert config["input_size"] == model.pretrained_cfg["input_size"]
    assert len(config["mean"]) == len(config["std"]) == 3
    parameters = dict(model.named_parameters())
    assert f"{model.pretrained_cfg['first_conv']}.weight" in parameters
    assert f"{model.pretrained_cfg['classifier']}.weight" in parameters
    assert model.pretrained_cfg["architecture"] == name
    assert model.default_cfg["num_classes"] == model.num_classes


def test_pool_size_is_that_of_the_features(name: str) -> None:
    model = timm.create_model(name).eval()
    images = torch.zeros(1, *model.pretrained_cfg["input_size"])
    with torch.no_grad():
        assert model.forward_features(images).shape[2:] == model.pretrained_cfg["pool_size"]


def test_create_model_and_timm_give_the_same_network(name: str) -> None:
    torch.manual_seed(0)
    ours = codednet.create_model(name)
    torch.manual_seed(0)
    theirs = timm.create_model(name)
    assert ours.config == theirs.config
    for left, right in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(left, right)


def test_every_parameter_gets_a_gradient(name: str) -> None:
    model = timm.create_model(name, num_classes=7).train()
    for _, block in model.named_blocks():
        torch.nn.init.ones_(block.bn3.weight)
    trace = model.trace(images_for(name))
    loss = codednet.total_loss(trace, torch.tensor([1, 2]), model.codes, mu=6.0)
    loss.backward()
    for key, parameter in model.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.isfinite().all(), key


def test_no_classes_leaves_pooled_features(name: str) -> None:
    model, images = timm.create_model(name, num_classes=0).eval(), images_for(name)
    with torch.no_grad():
        assert isinstance(model.get_classifier(), torch.nn.Identity)
        assert model(images).shape == (2, model.num_features)
        model.reset_classifier(0, "")
        assert model(images).ndim == 4


def test_classifier_is_reset(name: str) -> None:
    model, images = timm.create_model(name).eval(), images_for(name)
    model.reset_classifier(5, "max")
    with torch.no_grad():
        assert model(images).shape == (2, 5)
    assert model.num_classes == 5
    assert [code.num_classes for code in model.codes] == [5] * len(model.coded_blocks)
    assert not model.fc.training
    model.to(torch.float64).reset_classifier(4, "catavgmax")
    assert model(images.double()).shape == (2, 4)
    assert model.head_hidden_size == 2 * model.num_features


def test_intermediates_are_the_features_of_each_stage(name: str) -> None:
    model, images = timm.create_model(name).eval(), images_for(name)
    info = model.feature_info
    with torch.no_grad():
        last, features = model.forward_intermediates(images)
        assert torch.equal(last, model.forward_features(images))
        assert torch.equal(last, features[-1])
        for feature, entry in zip(features, info, strict=True):
            assert feature.shape[1] == entry["num_chs"]
            assert feature.shape[2] == images.shape[2] // entry["reduction"]
            assert model.get_submodule(entry["module"]) is not None
        some = model.forward_intermediates(images, indices=[1, -2], intermediates_only=True, stop_early=True)
    assert torch.equal(some[0], features[1])
    assert torch.equal(some[1], features[-2])
    with pytest.raises(CodednetError, match="come as NCHW; got output_fmt='NLC'"):
        model.forward_intermediates(images, output_fmt="NLC")


@pytest.mark.parametrize("extractor", [{}, {"feature_cls": "list"}, {"feature_cls": "hook"}])
def test_features_only_gives_the_intermediates(name: str, extractor: dict[str, str]) -> None:
    images = images_for(name)
    torch.manual_seed(0)
    model = timm.create_model(name).eval()
    torch.manual_seed(0)
    backbone = timm.create_model(name, features_only=True, **extractor).eval()
    with torch.no_grad():
        for got, want in zip(backbone(images), model.forward_intermediates(images)[1], strict=True):
            assert torch.equal(got, want)
    assert backbone.feature_info.channels() == [entry["num_chs"] for entry in model.feature_info]


@pytest.mark.parametrize("last", [0, 1, 2])
def test_features_only_prunes_what_is_not_asked_for(name: str, last: int) -> None:
    torch.manual_seed(0)
    model = timm.create_model(name).eval()
    torch.manual_seed(0)
    backbone = timm.create_model(name, features_only=True, out_indices=(0, last)).eval()
    images = images_for(name)
    with torch.no_grad():
        assert torch.equal(backbone(images)[-1], model.forward_intermediates(images, [last])[1][0])
    present = {key.split(".")[1] for key, _ in backbone.named_parameters()}
    assert present == {"conv1", "bn1"} | {f"layer{index}" for index in range(1, last + 1)}


@pytest.mark.parametrize("channels", [1, 4])
def test_images_may_have_other_channels(name: str, channels: int) -> None:
    model = timm.create_model(name, in_chans=channels).eval()
    with torch.no_grad():
        assert model(images_for(name, channels=channels)).shape == (2, model.num_classes)


def test_parameters_group_by_depth(name: str) -> None:
    model = timm.create_model(name)
    fine = group_parameters(model, model.group_matcher(), reverse=True)
    coarse = group_parameters(model, model.group_matcher(coarse=True), reverse=True)
    assert set(fine) == set(coarse) == {key for key, _ in model.named_parameters()}
    blocks = sum(len(stage) for stage in model.config.stages)
    assert max(fine.values()) == blocks + 1
    assert max(coarse.values()) == len(model.config.stages) + 1
    assert fine["conv1.weight"] == fine["bn1.weight"] == 0 < fine["layer1.0.bn1.weight"] < fine["fc.weight"]


def test_drop_rates_are_taken(name: str) -> None:
    model = timm.create_model(name, drop_rate=0.3, drop_path_rate=0.2, drop_branch=0.4)
    assert (model.drop_rate, model.drop_branch.p) == (0.3, 0.4)
    rates = [block.drop_path.drop_prob if block.drop_path else 0.0 for _, block in model.named_blocks()]
    assert rates[0] == 0
    assert rates[-1] == pytest.approx(0.2)
    assert rates == sorted(rates)


def test_gradient_checkpointing_gives_the_same_logits(name: str) -> None:
    model, images = timm.create_model(name, drop_branch=0.0).train(), images_for(name)
    want = model(images)
    model.set_grad_checkpointing()
    torch.testing.assert_close(model(images), want)
    model(images).sum().backward()
    assert model.conv1.weight.grad is not None


def test_placement_and_precision_are_taken(name: str) -> None:
    model = timm.create_model(name, dtype=torch.bfloat16)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
    assert all(words.dtype == torch.uint8 for words in model.words)


def test_channels_last_gives_the_same_logits(name: str) -> None:
    model, images = timm.create_model(name).eval(), images_for(name)
    with torch.no_grad():
        want = model(images)
        got = model.to(memory_format=torch.channels_last)(images.to(memory_format=torch.channels_last))
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


def test_without_pretrained_weights_asking_for_them_is_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match="No pretrained weights exist"):
        timm.create_model(name, pretrained=True)
