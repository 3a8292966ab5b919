"""Curves, thresholds and qualities are those of scikit-learn on the same scores, ties included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from codednet import CodednetError
from codednet.paths import fit_threshold, measure_quality, precision_recall_curve
from codednet.paths.thresholds import average_precision

# Few distinct scores: ties are the rule.
cases = st.lists(st.tuples(st.integers(-3, 3).map(lambda x: x / 4), st.booleans()), min_size=1, max_size=30).filter(
    lambda rows: any(positive for _, positive in rows)
)


def split(rows: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([score for score, _ in rows]), np.array([positive for _, positive in rows])


@given(cases)
def test_curves_are_scikit_learn_s(rows) -> None:
    scores, positive = split(rows)
    curve = precision_recall_curve(scores, positive)
    precision, recall, thresholds = metrics.precision_recall_curve(positive, scores)
    np.testing.assert_array_equal(curve.thresholds, thresholds)
    np.testing.assert_allclose(curve.precision, precision[:-1], rtol=1e-12)
    np.testing.assert_allclose(curve.recall, recall[:-1], rtol=1e-12)
    f1 = [metrics.f1_score(positive, scores >= threshold, zero_division=0) for threshold in thresholds]
    np.testing.assert_allclose(curve.f1, f1, rtol=1e-12)
    assert average_precision(curve) == pytest.approx(metrics.average_precision_score(positive, scores), rel=1e-12)


@given(cases, st.integers(-4, 4).map(lambda x: x / 4))
def test_qualities_are_scikit_learn_s(rows, threshold: float) -> None:
    scores, positive = split(rows)
    quality, answers = measure_quality(scores, positive, threshold), scores >= threshold
    for name, function in (
        ("precision", metrics.precision_score),
        ("recall", metrics.recall_score),
        ("f1", metrics.f1_score),
    ):
        assert getattr(quality, name) == pytest.approx(function(positive, answers, zero_division=0), rel=1e-12)
    assert quality.average_precision == pytest.approx(metrics.average_precision_score(positive, scores), rel=1e-12)


@given(cases)
def test_no_threshold_has_a_larger_f1_and_no_higher_one_the_same(rows) -> None:
    scores, positive = split(rows)
    best = fit_threshold(scores, positive)
    reached = metrics.f1_score(positive, scores >= best)
    for other in scores:
        value = metrics.f1_score(positive, scores >= other, zero_division=0)
        assert value < reached + 1e-12
        assert other <= best or value < reached - 1e-12


@given(cases, st.sampled_from([0.3, 0.5, 0.75, 0.9, 1.0]))
def test_a_recall_is_reached_with_the_most_precision(rows, target: float) -> None:
    scores, positive = split(rows)
    best = fit_threshold(scores, positive, recall=target)
    assert metrics.recall_score(positive, scores >= best) >= target
    reached = metrics.precision_score(positive, scores >= best)
    for other in scores:
        if metrics.recall_score(positive, scores >= other) >= target:
            assert metrics.precision_score(positive, scores >= other) <= reached + 1e-12


@given(cases, st.sampled_from([0.3, 0.5, 0.75, 0.9, 1.0]))
def test_a_precision_is_reached_with_the_most_recall_or_refused(rows, target: float) -> None:
    scores, positive = split(rows)
    reach = {
        float(other): metrics.recall_score(positive, scores >= other)
        for other in scores
        if metrics.precision_score(positive, scores >= other) >= target
    }
    if reach:
        best = fit_threshold(scores, positive, precision=target)
        assert best in reach
        assert reach[best] == max(reach.values())
    else:
        with pytest.raises(CodednetError, match=f"no threshold reaches precision {target}: at most 0"):
            fit_threshold(scores, positive, precision=target)


def test_the_precision_that_a_refusal_names_can_be_had() -> None:
    scores, positive = [3, 2, 2, 1], [0, 1, 1, 0]
    with pytest.raises(CodednetError, match=r"at most 0\.6667"):
        fit_threshold(scores, positive, precision=0.9)
    assert fit_threshold(scores, positive, precision=0.6666) == 2


@pytest.mark.parametrize(
    ("scores", "positive", "options", "message"),
    [
        ([1, 2], [0, 0], {}, "at least one positive; all 2 scores are of negatives"),
        ([1, 2], [0, 1, 1], {}, r"two rows of the same length; got shapes \(2,\) and \(3,\)"),
        ([1, np.nan], [0, 1], {}, "scores must be finite; 1 of 2 are not"),
        ([1, 2], [0, 2], {}, "marked by 1"),
        ([1, 2], [0, 1], {"precision": 0.0}, "precision must be above 0 and at most 1; got 0.0"),
        ([1, 2], [0, 1], {"recall": 1.5}, "recall must be above 0 and at most 1; got 1.5"),
        ([1, 2], [0, 1], {"recall": 0.5, "precision": 0.5}, "not to both"),
    ],
)
def test_what_cannot_be_fitted_is_refused(scores, positive, options, message: str) -> None:
    with pytest.raises(CodednetError, match=message):
        fit_threshold(scores, positive, **options)
