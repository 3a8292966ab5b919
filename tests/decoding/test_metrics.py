"""Calibration errors are torchmetrics' away from the edges of the bins, and the paper's at them."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss
from torchmetrics.functional.classification import multiclass_calibration_error

from codednet.decoding import calibration_errors, classwise_error, quality, reliability
from codednet.errors import CodednetError


def naive(confidence: list[float], right: list[bool], bins: int) -> tuple[float, float]:
    """ECE and MCE by the paper's definition: bin m holds what lies in ((m - 1) / bins, m / bins]."""
    gaps, shares = [], []
    for m in range(1, bins + 1):
        inside = [i for i, c in enumerate(confidence) if (m - 1) / bins < c <= m / bins or (m == 1 and c == 0)]
        if inside:
            accuracy = sum(right[i] for i in inside) / len(inside)
            gaps.append(abs(accuracy - sum(confidence[i] for i in inside) / len(inside)))
            shares.append(len(inside) / len(confidence))
    return math.fsum(g * s for g, s in zip(gaps, shares, strict=True)), max(gaps)


@given(st.integers(1, 20), st.data())
def test_errors_are_the_papers_at_the_edges_of_bins_too(bins, data) -> None:
    edges = st.sampled_from([m / bins for m in range(bins + 1)])
    rows = data.draw(st.lists(st.tuples(edges | st.floats(0, 1), st.booleans()), min_size=1, max_size=30))
    confidence, right = [row[0] for row in rows], [row[1] for row in rows]
    found = calibration_errors(torch.tensor(confidence, dtype=torch.float64), torch.tensor(right), bins)
    assert found == pytest.approx(naive(confidence, right, bins), abs=1e-12)


@pytest.mark.parametrize("bins", [5, 15])
@pytest.mark.parametrize("classes", [3, 10])
def test_errors_are_torchmetrics_away_from_the_edges(bins, classes) -> None:
    draw = torch.Generator().manual_seed(bins + classes)
    probabilities = (2 * torch.randn(2000, classes, generator=draw)).softmax(1)
    labels = torch.multinomial(probabilities, 1, generator=draw)[:, 0]
    top = probabilities.max(1)
    assert not torch.isclose(top.values * bins, (top.values * bins).round(), atol=1e-7, rtol=0).any()
    found = calibration_errors(top.values, top.indices == labels, bins)
    for value, norm in zip(found, ("l1", "max"), strict=True):
        oracle = multiclass_calibration_error(probabilities, labels, classes, n_bins=bins, norm=norm)
        assert value == pytest.approx(float(oracle), abs=1e-6)


def test_the_rest_of_the_quality_is_what_others_compute() -> None:
    draw = torch.Generator().manual_seed(0)
    probabilities = torch.randn(500, 4, generator=draw, dtype=torch.float64).softmax(1)
    labels = torch.randint(4, (500,), generator=draw)
    found = quality(probabilities, labels)
    truth = torch.eye(4, dtype=torch.float64)[labels]
    assert found.brier == pytest.approx(float((probabilities - truth).square().sum(1).mean()))
    assert found.nll == pytest.approx(log_loss(labels.numpy(), probabilities.numpy(), labels=range(4)))
    per_class = [naive(probabilities[:, k].tolist(), (labels == k).tolist(), 15)[0] for k in range(4)]
    assert found.classwise_ece == pytest.approx(np.mean(per_class))
    assert classwise_error(probabilities, labels) == found.classwise_ece
    top = probabilities.max(1)
    assert (found.ece, found.mce) == calibration_errors(top.values, top.indices == labels)


def test_bars_of_a_diagram_add_up_to_the_errors() -> None:
    draw = torch.Generator().manual_seed(1)
    confidence, right = torch.rand(300, generator=draw), torch.rand(300, generator=draw) < 0.6
    bars = reliability(confidence, right, 10)
    assert sum(bar.images for bar in bars) == 300
    gaps = [(bar.images / 300, abs(bar.accuracy - bar.confidence)) for bar in bars if bar.images]
    assert (sum(s * g for s, g in gaps), max(g for _, g in gaps)) == pytest.approx(
        calibration_errors(confidence, right, 10)
    )
    assert [(bar.lower, bar.upper) for bar in bars] == [(m / 10, (m + 1) / 10) for m in range(10)]
    empty = reliability(torch.tensor([0.95]), torch.tensor([True]), 10)[0]
    assert (empty.images, empty.confidence, empty.accuracy) == (0, None, None)


def test_what_is_no_confidence_is_refused() -> None:
    right = torch.tensor([True])
    with pytest.raises(CodednetError, match=r"must lie from 0 to 1; got 1\.5 to 1\.5"):
        calibration_errors(torch.tensor([1.5]), right)
    with pytest.raises(CodednetError, match="must lie from 0 to 1"):
        calibration_errors(torch.tensor([float("nan")]), right)
    with pytest.raises(CodednetError, match="one image or more; got none"):
        calibration_errors(torch.zeros(0), right[:0])
    with pytest.raises(CodednetError, match="1 bin or more; got 0"):
        calibration_errors(torch.tensor([0.5]), right, 0)
