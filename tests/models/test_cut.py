from collections.abc import Sequence

import pytest
import torch
from torch import nn

from codednet import CodednetError
from codednet.models import CodedResNeXt, create_model


def cut(full: CodedResNeXt, classes: Sequence[int]) -> CodedResNeXt:
    """The network of the narrowed config with the full network's weights, sliced channel by channel."""
    part = CodedResNeXt(full.config.narrowed(classes))
    state = full.state_dict()
    for name, block in part.named_blocks():
        kept = torch.tensor(block.config.branches)
        channels = (kept[:, None] * block.config.width + torch.arange(block.config.width)).flatten()
        for key in [key for key in state if key.startswith(f"{name}.")]:
            if key.endswith(("conv1.weight", "conv2.weight")) or (".bn1." in key or ".bn2." in key):
                state[key] = state[key][channels] if state[key].ndim else state[key]
            if key.endswith("conv3.weight"):
                state[key] = state[key][:, channels]
    for key in ("fc.weight", "fc.bias"):
        if key in state:
            state[key] = state[key][list(classes)]
    part.load_state_dict(state)
    return part.eval()


@pytest.mark.parametrize("shortcut", ["projection", "free"])
@pytest.mark.parametrize("classes", [[3], [7, 2], [0, 4, 5, 9]])
@pytest.mark.parametrize("name", ["coded_resnext20_10x4d", "coded_resnext29_10x11d"])
def test_cut_network_equals_masked_network(lively, images, name: str, classes: list[int], shortcut: str) -> None:
    full = lively(create_model(name, shortcut=shortcut)).eval()
    part = cut(full, classes)
    masks = [torch.tensor(code.words[classes].max(axis=0)) for code in full.codes]
    want, got = full.trace(images, keep=masks), part.trace(images)
    torch.testing.assert_close(got.logits, want.logits[:, classes], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(part(images), got.logits)
    for here, there in zip(got.energies, want.energies, strict=True):
        torch.testing.assert_close(here, there, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(here.sum(1), torch.full((3,), 10.0))


def test_cut_network_keeps_codes_names_and_numbers_of_branches() -> None:
    full = create_model("coded_resnext20_10x4d", class_names=list("abcdefghij"))
    part = CodedResNeXt(full.config.narrowed([7, 2]))
    assert part.config.class_names == ("h", "c")
    assert part.num_classes == 2
    for code, whole in zip(part.codes, full.codes, strict=True):
        assert (code.words == whole.words[[7, 2]]).all()
        assert code.rate == whole.rate
    for (_, block), (_, whole) in zip(part.named_blocks(), full.named_blocks(), strict=True):
        assert block.config.num_branches == 10
        if not whole.is_coded:
            assert block.config == whole.config
        assert block.conv2.groups == len(block.config.branches)


def test_cutting_twice_is_cutting_once() -> None:
    config = create_model("coded_resnext29_20x6d").config
    assert config.narrowed([5, 17, 80]).narrowed([2, 0]) == config.narrowed([80, 5])


def test_cut_network_trains_and_drops_branches(images) -> None:
    part = CodedResNeXt(create_model("coded_resnext20_10x4d", drop_branch=0.5).config.narrowed([1, 2])).train()
    logits, energies = part.trace(images)
    (logits.square().sum() + sum(row.square().sum() for row in energies)).backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in part.parameters())


def test_cut_network_is_given_no_other_classes() -> None:
    part = CodedResNeXt(create_model("coded_resnext20_10x4d").config.narrowed([1, 2]))
    part.reset_classifier(0)
    part.reset_classifier(2)
    assert isinstance(part.fc, nn.Linear)
    with pytest.raises(
        CodednetError, match="cannot be given 5 other classes: reset the classifier of the full network"
    ):
        part.reset_classifier(5)


@pytest.mark.parametrize("classes", [[], [10], [-1], [3, 3]])
def test_classes_to_cut_to_must_exist(classes: list[int]) -> None:
    with pytest.raises(CodednetError, match="classes must be distinct indices from 0 to 9, at least one"):
        create_model("coded_resnext20_10x4d").config.narrowed(classes)


def test_plain_block_can_lack_branches_too(lively, images) -> None:
    from dataclasses import replace

    full = create_model("coded_resnext20_10x4d").config.narrowed([1])
    plain = [replace(block, active=10, code=None) for _, block in full.blocks()]
    network = CodedResNeXt(replace(full.with_blocks(plain), codes=(), architecture="resnext20_10x4d"))
    assert network.coded_blocks == []
    assert lively(network).eval().trace(images).logits.shape == (3, 1)
