"""Removal curves of the record, from networks whose branches have weights of zero, and from masked passes."""

import copy

import numpy as np
import pytest
import torch

from codednet.experiments import find
from codednet.models import CodedResNeXt

REMOVAL = find("removal")


@pytest.fixture(scope="module")
def measured(loud):
    return REMOVAL.measure(loud, REMOVAL.options())


def without(model: CodedResNeXt, block: str, branches: list[int]) -> CodedResNeXt:
    """A copy in which nothing comes out of these branches of a block: the paper's own way to remove them."""
    network = copy.deepcopy(model)
    found = dict(network.named_blocks())[block]
    width = found.config.width
    with torch.no_grad():
        for branch in branches:
            found.conv3.weight[:, branch * width : (branch + 1) * width] = 0
    return network


@torch.no_grad()
def accuracy_without_all(model: CodedResNeXt, test_batch, block: str, kind: int) -> float:
    images, labels = test_batch
    words = model.codes[model.coded_blocks.index(block)].words
    right = 0
    for label, word in enumerate(words):
        own = labels == label
        right += int(
            (without(model, block, np.flatnonzero(word == kind).tolist())(images[own]).argmax(1) == label).sum()
        )
    return right / len(labels)


@torch.no_grad()
def accuracy_without_some(model: CodedResNeXt, test_batch, block: str, kind: int, k: int, seed: int) -> float:
    """Which branches go is drawn from the seed, the block's place among all, and the image's own place."""
    images, labels = test_batch
    place, depth = model.coded_blocks.index(block), [name for name, _ in model.named_blocks()].index(block)
    words = model.codes[place].words
    mask = torch.ones(len(images), words.shape[1])
    for row, label in enumerate(labels.tolist()):
        drawn = np.random.default_rng((seed, depth, row)).random(words.shape[1])
        candidates = sorted(np.flatnonzero(words[label] == kind), key=lambda branch, drawn=drawn: drawn[branch])
        mask[row, candidates[:k]] = 0
    keep = [mask if index == place else None for index in range(len(model.coded_blocks))]
    return float((model.trace(images, keep=keep).logits.argmax(1) == labels).double().mean())


def test_curves_begin_with_the_whole_network_and_have_a_point_for_every_number_removed(measured, loud, test_batch):
    images, labels = test_batch
    with torch.no_grad():
        whole = float((loud.model(images).argmax(1) == labels).double().mean())
    assert [curve.block for curve in measured.curves] == loud.model.coded_blocks
    assert {point[0] for curve in measured.curves for point in (curve.active, curve.inactive)} == {measured.accuracy}
    assert measured.accuracy == pytest.approx(whole, abs=1e-12)
    rates = [(len(curve.active) - 1, len(curve.inactive) - 1) for curve in measured.curves]
    assert rates == [(5, 5), (5, 5), (3, 7), (3, 7)]
    assert (measured.sample.images, measured.sample.available, measured.unreadable) == (40, 40, ())
    assert len({point for curve in measured.curves for point in (*curve.active, *curve.inactive)}) > 3


@pytest.mark.parametrize("place", range(4))
def test_curves_end_with_the_network_whose_branches_have_weights_of_zero(measured, loud, test_batch, place):
    curve = measured.curves[place]
    ends = [accuracy_without_all(loud.model, test_batch, curve.block, kind) for kind in (1, 0)]
    assert [curve.active[-1], curve.inactive[-1]] == pytest.approx(ends, abs=1e-12)


@pytest.mark.parametrize("k", [1, 2])
def test_in_between_accuracies_are_those_of_a_masked_pass(measured, loud, test_batch, k):
    for curve in measured.curves:
        found = [accuracy_without_some(loud.model, test_batch, curve.block, kind, k, 0) for kind in (1, 0)]
        assert [curve.active[k], curve.inactive[k]] == pytest.approx(found, abs=1e-12)


def test_another_seed_removes_other_branches_and_the_same_when_all_go(measured, loud, test_batch):
    other = REMOVAL.measure(loud, REMOVAL.options(seed=1))
    assert other.sample.seed == 1
    for one, two in zip(measured.curves, other.curves, strict=True):
        for kind, before, after in ((1, one.active, two.active), (0, one.inactive, two.inactive)):
            assert (before[0], before[-1]) == (after[0], after[-1])
            expected = accuracy_without_some(loud.model, test_batch, one.block, kind, 2, 1)
            assert after[2] == pytest.approx(expected, abs=1e-12)
    assert measured.curves != other.curves
