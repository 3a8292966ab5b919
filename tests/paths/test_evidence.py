"""Evidence maps are the naive energies of branches, position by position."""

import pytest
import torch
from torch import Tensor

from codednet import CodednetError, extract
from codednet.models import CodedResNeXt
from codednet.paths import evidence_map


@torch.no_grad()
def naive_outputs(model: CodedResNeXt, images: Tensor, block: str) -> Tensor:
    """Outputs of every branch before the normalisation: (batch, branches, channels, height, width)."""
    step = next(step for step in model.walk(images) if step.name == block)
    conv3, width = step.block.conv3, step.block.config.width
    outputs = [
        torch.nn.functional.conv2d(u, weight)
        for u, weight in zip(step.hidden.split(width, dim=1), conv3.weight.split(width, dim=1), strict=True)
    ]
    return torch.stack(outputs, dim=1)


@pytest.mark.parametrize("block", ["layer2.0", "layer3.1"])
def test_maps_are_the_energies_of_the_class_s_branches(small, images, block: str) -> None:
    outputs = naive_outputs(small, images, block).square()
    word = torch.tensor(small.codes[small.coded_blocks.index(block)].words[3]).bool()
    got = evidence_map(small, images, block, "dog")
    want = outputs[:, word].sum((1, 2)) / outputs[0, 0].numel()
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-6 * float(want.max()))
    assert not got.requires_grad
    torch.testing.assert_close(got.sum((1, 2)), outputs.mean((2, 3, 4))[:, word].sum(1), rtol=1e-4, atol=0)


def test_over_all_classes_the_maps_make_up_the_block_s_energies(small, images) -> None:
    block, words = "layer2.1", small.codes[1].words
    loads = torch.tensor(words.sum(axis=0), dtype=torch.float32)
    energies = naive_outputs(small, images, block).square().mean((2, 3, 4))
    total = sum(evidence_map(small, images, block, label).sum((1, 2)) for label in range(10))
    torch.testing.assert_close(total, energies @ loads, rtol=1e-4, atol=0)


def test_every_image_may_have_its_own_class(small, images) -> None:
    maps = evidence_map(small, images, "layer3.0", torch.tensor([0, 1, 2, 3, 9]))
    for row, label in enumerate(["ant", "bee", "cat", "dog", "jay"]):
        torch.testing.assert_close(maps[row], evidence_map(small, images, "layer3.0", label)[row])
    torch.testing.assert_close(maps, evidence_map(small, images, "layer3.0", ["ant", 1, "cat", 3, "jay"]))


def test_an_extracted_network_has_the_maps_of_the_masked_one(small, images) -> None:
    part = extract(small, ["elk", "cat"])
    # Up to the first coded block nothing has been cut away.
    torch.testing.assert_close(
        evidence_map(part, images, "layer2.0", "cat"), evidence_map(small, images, "layer2.0", "cat")
    )


def test_what_has_no_map_is_refused(small, plain, images) -> None:
    with pytest.raises(CodednetError, match=r"no coded block is called 'layer1\.1'; did you mean 'layer[23]\.1'"):
        evidence_map(small, images, "layer1.1", 0)
    with pytest.raises(CodednetError, match=r"one for each of the 5; got 2"):
        evidence_map(small, images, "layer2.0", [0, 1])
    with pytest.raises(CodednetError, match="no class is called 'cta'; did you mean 'cat'"):
        evidence_map(small, images, "layer2.0", "cta")
    with pytest.raises(CodednetError, match="resnext20_10x4d has no coded blocks, so no words"):
        evidence_map(plain, images, "layer2.0", 0)
