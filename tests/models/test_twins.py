import pytest
import timm
import torch
from timm.models.resnet import Bottleneck as TimmBottleneck

from codednet.models import create_model
from codednet.models.block import Bottleneck, CodedBottleneck
from codednet.models.config import BlockConfig


def test_plain_twin_equals_timms_network_with_its_weights(lively) -> None:
    theirs = lively(timm.create_model("resnext50_32x4d", pretrained=False))
    ours = create_model("resnext50_32x4d")
    ours.load_state_dict(theirs.state_dict())
    images = torch.randn(2, 3, 64, 64)
    for training in (False, True):
        want, got = theirs.train(training)(images), ours.train(training)(images)
        assert (got - want).abs().max() <= 1e-5 * want.abs().max()


def test_plain_twin_has_timms_gradients(lively) -> None:
    theirs = lively(timm.create_model("resnext50_32x4d", pretrained=False))
    ours = create_model("resnext50_32x4d")
    ours.load_state_dict(theirs.state_dict())
    images = torch.randn(2, 3, 64, 64)
    theirs(images).square().sum().backward()
    ours(images).square().sum().backward()
    for (name, want), got in zip(theirs.named_parameters(), ours.parameters(), strict=True):
        assert (got.grad - want.grad).abs().max() <= 1e-5 * want.grad.abs().max(), name


def test_timms_weights_load_as_they_are_into_the_coded_network() -> None:
    theirs = timm.create_model("resnext50_32x4d", pretrained=False)
    ours = create_model("coded_resnext50_32x4d")
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict(), strict=True)
    assert torch.equal(ours.layer3[0].conv3.weight, theirs.layer3[0].conv3.weight)


@pytest.mark.parametrize("stride", [1, 2])
def test_block_of_rate_one_equals_timms_block(lively, stride: int) -> None:
    config = BlockConfig(out_channels=64, width=4, num_branches=8, active=8, stride=stride)
    ours = Bottleneck(64, config)
    theirs = TimmBottleneck(64, 16, stride=stride, cardinality=8, base_width=16)
    theirs.load_state_dict(lively(ours).state_dict())
    if stride == 2:
        ours.downsample = theirs.downsample = torch.nn.AvgPool2d(2)
    x = torch.randn(2, 64, 8, 8)
    torch.testing.assert_close(ours(x), theirs(x), rtol=0, atol=0)


def test_blocks_of_rate_one_are_plain_and_others_coded() -> None:
    for _, block in create_model("coded_resnext50_32x4d").named_blocks():
        assert type(block) is (CodedBottleneck if block.config.active < 32 else Bottleneck)


def test_twins_start_from_the_same_weights_by_the_same_seed() -> None:
    torch.manual_seed(3)
    coded = create_model("coded_resnext20_10x4d")
    torch.manual_seed(3)
    plain = create_model("resnext20_10x4d")
    for left, right in zip(coded.parameters(), plain.parameters(), strict=True):
        assert torch.equal(left, right)


def test_initialisation_is_the_papers() -> None:
    model = create_model("coded_resnext29_10x11d")
    weight = model.layer3[1].conv1.weight
    assert weight.std().item() == pytest.approx((2 / weight.shape[0]) ** 0.5, rel=0.02)
    assert all(block.bn3.weight.eq(0).all() and block.bn2.weight.eq(1).all() for _, block in model.named_blocks())
    assert model.fc.bias is None
    assert create_model("coded_resnext50_32x4d").fc.bias is not None
