"""Histograms of what branches give, against every branch's output written out in float64."""

import numpy as np
import pytest
import torch
from torch import Tensor

from codednet.experiments import find

ACTIVATIONS = find("activations")


@torch.no_grad()
def branch_outputs(model, images: Tensor, name: str, branches: int) -> np.ndarray:
    """|W_n u_n| of the first branches of a block: (branches, images, values)."""
    (step,) = [step for step in model.walk(images) if step.name == name]
    block = dict(model.named_blocks())[name]
    width, u, weight = block.config.width, step.hidden.double(), block.conv3.weight.double()[:, :, 0, 0]
    found = []
    for n in range(branches):
        channels = slice(n * width, (n + 1) * width)
        t = torch.einsum("cd,bdhw->bchw", weight[:, channels], u[:, channels])
        found.append(t.abs().flatten(1).numpy())
    return np.stack(found)


def assert_reach(reach, values: np.ndarray, edges: np.ndarray) -> None:
    assert reach.images == len(values)
    if not len(values):
        assert (reach.mean, reach.largest, sum(reach.counts)) == (None, None, 0)
        return
    assert reach.mean == pytest.approx(values.mean(), rel=1e-5)
    assert reach.largest == pytest.approx(values.max(), rel=1e-5)
    assert sum(reach.counts) == values.size
    # A value this near to an edge may be rounded to either side of it.
    near, flat = 1e-6 * edges[-1], np.sort(values.ravel())
    below = np.cumsum(reach.counts)[:-1]
    assert (np.searchsorted(flat, edges[1:-1] - near) <= below).all()
    assert (below <= np.searchsorted(flat, edges[1:-1] + near)).all()


def test_histograms_part_each_branchs_outputs_by_whether_it_is_to_be_active(record, subject, test_batch):
    images, labels = test_batch
    found, model = record("activations"), subject.model
    edges = np.array(found.edges)
    outputs = branch_outputs(model, images, found.block, 5)
    words = model.codes[model.coded_blocks.index(found.block)].words
    assert [one.branch for one in found.branches] == list(range(5))
    for one, values in zip(found.branches, outputs, strict=True):
        active = words[labels.numpy(), one.branch] == 1
        assert 0 < active.sum() < len(active)
        assert_reach(one.active, values[active], edges)
        assert_reach(one.inactive, values[~active], edges)
    assert edges[0] == 0
    assert edges[-1] == pytest.approx(outputs.max(), rel=1e-5)
    np.testing.assert_allclose(np.diff(edges), edges[-1] / 60, rtol=1e-9)


def test_the_block_is_the_second_of_the_last_stage_and_the_sample_is_said(record):
    found = record("activations")
    assert (found.block, found.num_branches) == ("layer3.1", 10)
    assert (found.sample.images, found.sample.available, found.unreadable) == (40, 40, ())


def test_options_choose_branches_bins_and_images(subject):
    found = ACTIVATIONS.measure(subject, ACTIVATIONS.options(images=10, branches=99, bins=7))
    assert (len(found.edges), len(found.branches)) == (8, 10)
    labels = torch.arange(10)  # one image of every class
    words = subject.model.codes[-1].words
    for one in found.branches:
        assert one.active.images == int(words[labels, one.branch].sum())
        assert one.active.images + one.inactive.images == found.sample.images == 10
        assert len(one.active.counts) == len(one.inactive.counts) == 7
