"""Removal curves of the record, from networks whose branches have weights of zero, and from masked passes."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from codednet.experiments import find
from codednet.experiments.sample import stratified
from codednet.models import CodedResNeXt

REMOVAL = find("removal")


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


def test_curves_begin_with_the_whole_network_and_have_a_point_for_every_number_removed(record, subject, test_batch):
    images, labels = test_batch
    with torch.no_grad():
        whole = float((subject.model(images).argmax(1) == labels).double().mean())
    found = record("removal")
    assert [curve.block for curve in found.curves] == subject.model.coded_blocks
    assert {point[0] for curve in found.curves for point in (curve.active, curve.inactive)} == {found.accuracy}
    assert found.accuracy == pytest.approx(whole, abs=1e-12)
    rates = [(len(curve.active) - 1, len(curve.inactive) - 1) for curve in found.curves]
    assert rates == [(5, 5), (5, 5), (3, 7), (3, 7)]
    assert (found.sample.images, found.sample.available, found.unreadable) == (40, 40, ())


@pytest.mark.parametrize("place", range(4))
def test_curves_end_with_the_network_whose_branches_have_weights_of_zero(record, subject, test_batch, place):
    curve = record("removal").curves[place]
    ends = [accuracy_without_all(subject.model, test_batch, curve.block, kind) for kind in (1, 0)]
    assert [curve.active[-1], curve.inactive[-1]] == pytest.approx(ends, abs=1e-12)


@pytest.mark.parametrize("k", [1, 2])
def test_in_between_accuracies_are_those_of_a_masked_pass(record, subject, test_batch, k):
    for curve in record("removal").curves:
        found = [accuracy_without_some(subject.model, test_batch, curve.block, kind, k, 0) for kind in (1, 0)]
        assert [curve.active[k], curve.inactive[k]] == pytest.approx(found, abs=1e-12)


def test_another_seed_removes_other_branches_and_the_same_when_all_go(record, subject, test_batch):
    first, other = record("removal"), REMOVAL.measure(subject, REMOVAL.options(seed=1))
    assert other.sample.seed == 1
    for one, two in zip(first.curves, other.curves, strict=True):
        for kind, before, after in ((1, one.active, two.active), (0, one.inactive, two.inactive)):
            assert (before[0], before[-1]) == (after[0], after[-1])
            expected = accuracy_without_some(subject.model, test_batch, one.block, kind, 2, 1)
            assert after[2] == pytest.approx(expected, abs=1e-12)
    assert first.curves != other.curves


def test_a_sample_is_measured_on_the_images_that_were_drawn(subject, test_batch):
    images, labels = test_batch
    found = REMOVAL.measure(subject, REMOVAL.options(images=20, seed=3))
    drawn = stratified(labels.numpy(), 20, 3)
    assert np.bincount(labels[drawn]).tolist() == [2] * 10
    with torch.no_grad():
        right = subject.model(images[drawn]).argmax(1) == labels[drawn]
    assert found.accuracy == pytest.approx(float(right.double().mean()), abs=1e-12)
    assert {curve.images for curve in found.curves} == {20}
    assert (found.sample.images, found.sample.available, found.sample.is_whole) == (20, 40, False)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=80), st.integers(0, 90), st.integers(0, 99))
def test_a_stratified_draw_takes_one_share_of_every_class_but_for_rounding(labels, count, seed):
    places = stratified(labels, count, seed)
    assert len(places) == min(count, len(labels))
    assert places.tolist() == sorted(set(places.tolist()))
    assert places.tolist() == stratified(labels, count, seed).tolist()
    there, taken = np.bincount(labels), np.bincount(np.asarray(labels)[places], minlength=max(labels) + 1)
    classes = np.flatnonzero(there)
    # Some share of all classes is, in each, within one image of what was taken.
    least, most = (taken[classes] - 1) / there[classes], (taken[classes] + 1) / there[classes]
    assert least.max() <= most.min()
