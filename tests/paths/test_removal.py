"""Removal curves are accuracies of masked networks, whatever the batch size."""

import copy

import numpy as np
import pytest
import torch
from torch import Tensor

import codednet
from codednet import CodednetError, extract
from codednet.models import CodedResNeXt
from codednet.paths import RemovalCurve, removal_curve, removal_curves
from codednet.paths.removal import draws, removal_ranks


@pytest.fixture(scope="module")
def images() -> Tensor:
    return torch.randn(40, 3, 16, 16, generator=torch.Generator().manual_seed(5))


@pytest.fixture(scope="module")
def labels(small: CodedResNeXt, images: Tensor) -> Tensor:
    """Mostly what the network says, so that accuracies are far from chance."""
    with torch.no_grad():
        said = small(images).argmax(1)
    said[::4] = torch.arange(10)
    return said


@torch.no_grad()
def naive_curve(model: CodedResNeXt, images: Tensor, labels: Tensor, block: str, seed: int) -> RemovalCurve:
    """One full masked pass for every k, the branches chosen image by image."""
    place, depth = model.coded_blocks.index(block), [name for name, _ in model.named_blocks()].index(block)
    words = model.codes[place].words
    curves = []
    for kind in (1, 0):
        curve = []
        for k in range(int((words[0] == kind).sum()) + 1):
            mask = torch.ones(len(images), 10)
            for row, label in enumerate(labels.tolist()):
                drawn = np.random.default_rng((seed, depth, row)).random(10)
                candidates = sorted(np.flatnonzero(words[label] == kind), key=lambda branch: drawn[branch])
                mask[row, candidates[:k]] = 0
            keep = [mask if index == place else None for index in range(len(model.coded_blocks))]
            curve.append(float((model.trace(images, keep=keep).logits.argmax(1) == labels).double().mean()))
        curves.append(tuple(curve))
    return RemovalCurve(block=block, images=len(images), active=curves[0], inactive=curves[1])


def test_curves_are_accuracies_of_masked_networks(small, images, labels) -> None:
    curves = removal_curves(small, [(images, labels)], seed=3)
    assert [curve.block for curve in curves] == small.coded_blocks
    for curve in curves:
        assert curve == naive_curve(small, images, labels, curve.block, 3)
    assert len({curve.active[0] for curve in curves} | {curve.inactive[0] for curve in curves}) == 1
    assert any(len(set(curve.active)) > 1 for curve in curves)
    assert [len(curve.active) for curve in curves] == [6, 6, 4, 4]
    assert [len(curve.inactive) for curve in curves] == [6, 6, 8, 8]


def test_batch_size_and_other_blocks_do_not_matter(small, images, labels) -> None:
    whole = removal_curves(small, [(images, labels)])
    parts = removal_curves(small, zip(images.split(7), labels.split(7), strict=True))
    assert whole == parts
    assert removal_curve(small, [(images, labels)], "layer3.0") == whole[2]


def test_choices_are_seeded_and_grow(small) -> None:
    active = torch.tensor(small.codes[-1].words).bool()
    first, other = (removal_ranks(active, torch.tensor(draws(seed, 5, 0, (10, 10)))) for seed in (0, 1))
    assert not torch.equal(first, other)
    for row, ranks in zip(active, first, strict=True):
        assert sorted(ranks[row].tolist()) == [0, 1, 2]


def test_every_order_of_branches_is_as_likely() -> None:
    ranks = removal_ranks(torch.ones(3000, 3).bool(), torch.tensor(draws(0, 1, 0, (3000, 3))))
    counts = np.bincount((ranks * torch.tensor([9, 3, 1])).sum(1).numpy())
    counts = counts[counts > 0]
    assert len(counts) == 6
    assert counts.min() > 420
    assert counts.max() < 580


def test_the_network_is_left_as_it_was(small, images, labels) -> None:
    model = copy.deepcopy(small).train()
    assert removal_curve(model, [(images, labels)], "layer2.1") == removal_curve(small, [(images, labels)], "layer2.1")
    assert model.training
    assert all(torch.equal(value, small.state_dict()[key]) for key, value in model.state_dict().items())


def test_what_has_no_curve_is_refused(small, plain, images, labels) -> None:
    batches = [(images, labels)]
    for block in ("layer1.0", "layer9.0"):
        with pytest.raises(CodednetError, match=f"no coded block is called '{block}'; did you mean 'layer[23].0'"):
            removal_curve(small, batches, block)
    with pytest.raises(CodednetError, match="resnext20_10x4d has no coded blocks"):
        removal_curve(plain, batches, "layer2.0")
    with pytest.raises(CodednetError, match="at least one coded block; got none"):
        removal_curves(plain, batches)
    with pytest.raises(CodednetError, match="at least one image"):
        removal_curves(small, [])
    with pytest.raises(CodednetError, match="labels must be from 0 to 9; got 0 to 10"):
        removal_curves(small, [(images[:2], torch.tensor([0, 10]))])
    with pytest.raises(CodednetError, match="one an image: 40 images came with labels of shape"):
        removal_curves(small, [(images, labels[:3])])


def test_extracted_networks_have_curves(small, images) -> None:
    part = extract(small, ["cat", "elk"])
    (curve,) = removal_curves(part, [(images, torch.arange(40) % 2)], ["layer3.1"])
    assert len(curve.active) == 4
    with pytest.raises(codednet.CodednetError, match="labels must be from 0 to 1"):
        removal_curves(part, [(images, torch.arange(40) % 3)])
