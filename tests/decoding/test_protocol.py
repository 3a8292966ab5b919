"""The paper's protocol: every split stratified, fitted on one part and measured on the other, and forgotten."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from codednet.decoding import (
    agreement_table,
    calibration_errors,
    draw_split,
    fit_temperature,
    literal_fit,
    quality,
    run_protocol,
)
from codednet.errors import CodednetError


@pytest.fixture(scope="module")
def outputs() -> tuple[Tensor, Tensor, Tensor]:
    """Overconfident logits of 2,400 images and 4 classes, and decoders that agree where they are right."""
    draw = torch.Generator().manual_seed(0)
    labels = torch.arange(2400) % 4
    logits = torch.randn(2400, 4, generator=draw)
    logits[torch.arange(2400), labels] += 2
    right = logits.argmax(1) == labels
    agree = torch.rand(2400, 3, generator=draw) < torch.where(right, 0.9, 0.5)[:, None]
    return 3 * logits, labels, agree


@given(
    st.lists(st.integers(4, 30), min_size=1, max_size=5),
    st.sampled_from([0.25, 0.5]),
    st.integers(0, 99),
    st.integers(0, 40),
)
def test_a_split_takes_its_share_of_every_class(counts, share, seed, number) -> None:
    labels = np.random.default_rng(1).permutation(np.repeat(np.arange(len(counts)), counts))
    fit, measured = draw_split(labels, len(counts), share, seed, number)
    assert sorted([*fit, *measured]) == list(range(len(labels)))
    for label, count in enumerate(counts):
        assert abs(int((labels[fit] == label).sum()) - share * count) <= 0.5


def test_splits_differ_and_come_back_by_their_seed() -> None:
    labels = np.arange(200) % 10
    drawn = [tuple(draw_split(labels, 10, 0.25, seed, number)[0]) for seed in (0, 1) for number in range(20)]
    assert len(set(drawn)) == 40
    assert drawn[3] == tuple(draw_split(labels, 10, 0.25, 0, 3)[0])


def test_the_record_is_that_of_the_splits_one_by_one(outputs) -> None:
    logits, labels, agree = outputs
    record = run_protocol(logits, labels, agree, splits=3, shares=(0.25,), seed=5, literal=False)
    found: dict[str, list] = {"softmax": [], "h_T": [], "h_aug": [], "agreement": []}
    for number in range(3):
        fit, measured = (torch.from_numpy(part) for part in draw_split(labels.numpy(), 4, 0.25, 5, number))
        z, y, agreed = logits[measured], labels[measured], agree[measured]
        found["softmax"].append(quality(z.double().softmax(1), y))
        for name, some in (("h_T", None), ("h_aug", agree[fit])):
            one = fit_temperature(logits[fit], labels[fit], some)
            found[name].append(quality(one.probabilities(z, agreed), y))
        table = agreement_table(agree[fit], logits[fit].argmax(1) == labels[fit])
        found["agreement"].append(calibration_errors(table.confidence(agreed), z.argmax(1) == y))
    (share,) = record.shares
    assert (share.fitted_on, share.measured_on) == (600, 1800)
    assert [method.method for method in share.methods] == list(found)
    for method in share.methods[:3]:
        for field in ("ece", "mce", "brier", "nll", "classwise_ece"):
            values = [getattr(one, field) for one in found[method.method]]
            assert getattr(method, field).mean == pytest.approx(np.mean(values), abs=1e-6)
            assert getattr(method, field).std == pytest.approx(np.std(values, ddof=1), abs=1e-6)
    errors = np.array(found["agreement"])
    assert (share.methods[3].ece.mean, share.methods[3].mce.mean) == pytest.approx(tuple(errors.mean(0)))
    assert share.methods[3].nll is None


def test_calibration_helps_what_is_overconfident(outputs) -> None:
    record = run_protocol(*outputs, splits=5, literal=False)
    for share in record.shares:
        softmax, h_T, h_aug, _ = share.methods
        assert h_T.ece.mean < 0.5 * softmax.ece.mean
        assert h_aug.nll.mean < h_T.nll.mean < softmax.nll.mean


def test_a_split_of_each_share_is_fitted_as_literally_as_in_the_paper(outputs) -> None:
    logits, labels, agree = outputs
    record = run_protocol(*outputs, splits=2)
    assert [(one.share, one.method) for one in record.literal] == [
        (share, method) for share in (0.25, 0.5) for method in ("h_T", "h_aug")
    ]
    fit, measured = (torch.from_numpy(part) for part in draw_split(labels.numpy(), 4, 0.25, 0, 0))
    literal = literal_fit(logits[fit], labels[fit], agree[fit])
    assert record.literal[1].literal == literal
    top = literal.probabilities(logits[measured], agree[measured]).max(1)
    errors = calibration_errors(top.values, top.indices == labels[measured])
    assert (record.literal[1].literal_ece, record.literal[1].literal_mce) == errors


def test_the_papers_numbers_are_41_splits_of_both_shares_and_15_bins(outputs) -> None:
    record = run_protocol(*outputs, literal=False)
    assert (record.splits, record.bins, [share.share for share in record.shares]) == (41, 15, [0.25, 0.5])


def test_a_network_without_early_decoders_has_softmax_and_one_temperature(outputs) -> None:
    logits, labels, agree = outputs
    record = run_protocol(logits, labels, agree[:, :0], splits=2)
    assert [method.method for method in record.shares[0].methods] == ["softmax", "h_T"]
    assert [one.method for one in record.literal] == ["h_T", "h_T"]


def test_too_few_images_in_a_class_are_refused(outputs) -> None:
    logits, _, agree = outputs
    labels = torch.arange(2400) % 3
    labels[0] = 3
    message = r"class 3 has 1 images, too few to split 25% from 75%: each part needs one of every class"
    with pytest.raises(CodednetError, match=message):
        run_protocol(logits, labels, agree)
    with pytest.raises(CodednetError, match=r"lies above 0 and below 1; got 1\.5"):
        run_protocol(logits, labels, agree, shares=(1.5,))
    with pytest.raises(CodednetError, match="1 split or more; got 0"):
        run_protocol(logits, labels, agree, splits=0)
