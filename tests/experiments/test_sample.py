"""Some images instead of all: every class with its share of them, and measured on just these."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from codednet.experiments import find
from codednet.experiments.sample import stratified

REMOVAL = find("removal")


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
