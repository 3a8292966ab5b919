"""Detectors of all classes: fitted on one table of scores, measured on another, by scikit-learn's measures."""

import re

import numpy as np
import pytest
from sklearn import metrics

from codednet import CodednetError
from codednet.paths import fit_thresholds, mean_quality, measure_detectors
from codednet.paths.detectors import counted, counted_strangers

rng = np.random.default_rng(0)


def table(classes: int, images: int, hard: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    labels = np.arange(images) % classes
    return rng.normal(size=(images, classes)) + hard * np.eye(classes)[labels], labels


def assert_quality(quality, positive: np.ndarray, scores: np.ndarray, threshold: float) -> None:
    answers = scores >= threshold
    assert quality.precision == pytest.approx(metrics.precision_score(positive, answers))
    assert quality.recall == pytest.approx(metrics.recall_score(positive, answers))
    assert quality.f1 == pytest.approx(metrics.f1_score(positive, answers))
    assert quality.average_precision == pytest.approx(metrics.average_precision_score(positive, scores))


def test_ten_classes_are_measured_against_all_negatives_by_scikit_learn_s_measures() -> None:
    (fit, fit_labels), (test, labels), (ood, _) = table(10, 500), table(10, 300), table(10, 200, hard=0)
    thresholds = fit_thresholds(fit, fit_labels)
    names = tuple("abcdefghij")
    detectors = measure_detectors(test, labels, thresholds, out_of_distribution={"noise": ood}, names=names)
    assert tuple(detector.label for detector in detectors) == names
    for index, detector in enumerate(detectors):
        assert detector.threshold == thresholds[index]
        assert_quality(detector.in_distribution, labels == index, test[:, index], thresholds[index])
        mixed = np.concatenate([test[labels == index, index], ood[:, index]])
        truth = np.arange(len(mixed)) < (labels == index).sum()
        assert_quality(detector.out_of_distribution["noise"], truth, mixed, thresholds[index])
        # The positives are the same, so recall is too.
        assert detector.in_distribution.recall == detector.out_of_distribution["noise"].recall
        best = max(metrics.f1_score(fit_labels == index, fit[:, index] >= value) for value in fit[::10, index])
        assert metrics.f1_score(fit_labels == index, fit[:, index] >= thresholds[index]) >= best


def test_many_classes_are_measured_against_nine_drawn_negatives_a_positive() -> None:
    # Every image is said yes to, so precision is the share of positives among those that count.
    scores, labels = table(40, 800)
    everyone = np.full(40, -100.0)
    detectors = measure_detectors(scores, labels, everyone, out_of_distribution={"same": scores})
    assert {one.in_distribution.precision for one in detectors} == {0.1}
    assert {one.out_of_distribution["same"].precision for one in detectors} == {0.1}
    assert {one.in_distribution.precision for one in measure_detectors(scores, labels, everyone, negatives=3)} == {0.25}
    all_of_them = measure_detectors(scores, labels, everyone, negatives="all")
    assert {one.in_distribution.precision for one in all_of_them} == {20 / 800}


def test_scores_of_images_that_do_not_count_are_never_read() -> None:
    (fit, fit_labels), (test, labels), (many, _) = table(40, 800), table(40, 800, hard=1.0), table(40, 500, hard=0)
    for negatives, seed in (("paper", 0), (3, 5), ("all", 0)):
        draws = {"negatives": negatives, "seed": seed}
        limits = fit_thresholds(fit, fit_labels, **draws)
        whole = measure_detectors(test, labels, limits, out_of_distribution={"many": many}, **draws)
        thin = [
            np.where(mask, scores, np.nan)
            for scores, mask in (
                (fit, counted(fit_labels, 40, **draws)),
                (test, counted(labels, 40, **draws)),
                (many, counted_strangers(500, labels, 40, **draws)),
            )
        ]
        assert (fit_thresholds(thin[0], fit_labels, **draws) == limits).all()
        assert measure_detectors(thin[1], labels, limits, out_of_distribution={"many": thin[2]}, **draws) == whole
        assert bool(np.isnan(thin[1]).any()) == (negatives != "all")


def test_the_draw_depends_on_the_seed_alone() -> None:
    scores, labels = table(12, 600, hard=1.0)
    limits = fit_thresholds(scores, labels, seed=3)
    assert (limits == fit_thresholds(scores, labels, seed=3)).all()
    first = measure_detectors(scores, labels, limits, seed=1)
    assert first == measure_detectors(scores, labels, limits, seed=1)
    assert first != measure_detectors(scores, labels, limits, seed=2)


def test_targets_are_met_on_the_table_they_are_fitted_on() -> None:
    scores, labels = table(5, 400)
    for target in ({"precision": 0.95}, {"recall": 0.9}):
        (name, value), limits = next(iter(target.items())), fit_thresholds(scores, labels, **target)
        for detector in measure_detectors(scores, labels, limits):
            assert getattr(detector.in_distribution, name) >= value
            assert detector.out_of_distribution == {}


def test_means_are_means() -> None:
    scores, labels = table(5, 100)
    qualities = [one.in_distribution for one in measure_detectors(scores, labels, fit_thresholds(scores, labels))]
    assert mean_quality(qualities).f1 == pytest.approx(np.mean([one.f1 for one in qualities]))
    with pytest.raises(CodednetError, match="at least one detector"):
        mean_quality([])


def test_tables_that_do_not_fit_are_refused() -> None:
    scores, labels = table(3, 30)
    with pytest.raises(CodednetError, match="class 'c' has no image among the labels"):
        fit_thresholds(scores, labels % 2, names="abc")
    with pytest.raises(
        CodednetError, match=r"labels must number the 3 columns from 0; got 0 to 3\. Images of no class"
    ):
        fit_thresholds(scores, labels + (labels == 2))
    with pytest.raises(CodednetError, match="one for each of the 30 rows"):
        fit_thresholds(scores, labels[:-1])
    with pytest.raises(CodednetError, match="whole numbers"):
        fit_thresholds(scores, labels / 1)
    with pytest.raises(CodednetError, match="a table, images by classes"):
        fit_thresholds(scores[:, 0], labels)
    with pytest.raises(CodednetError, match="a threshold for each of the 3 columns"):
        measure_detectors(scores, labels, [0.0])
    with pytest.raises(CodednetError, match="that of noise has 2"):
        measure_detectors(scores, labels, [0.0] * 3, out_of_distribution={"noise": scores[:, :2]})
    with pytest.raises(CodednetError, match="a name for each of the 3 columns; got 2"):
        fit_thresholds(scores, labels, names="ab")
    with pytest.raises(CodednetError, match="negatives must be 'paper', 'all' or a number"):
        fit_thresholds(scores, labels, negatives=0)


def test_a_precision_out_of_reach_is_refused_with_what_can_be_reached() -> None:
    scores, labels = table(3, 300)
    one, two = scores.copy(), scores.copy()
    one[0, 1] = two[0, 1] = two[:5, 2] = 9.0  # images of class 0 that others take for theirs
    with pytest.raises(CodednetError, match=r"class '1': no threshold reaches precision 1\.0: at most 0\.\d+\. Ask"):
        fit_thresholds(one, labels, precision=1.0)
    match = (
        r"2 of 3 classes have no threshold that reaches precision 1\.0; .* class '2', at most (0\.\d+)\. Ask for less"
    )
    with pytest.raises(CodednetError, match=match) as refused:
        fit_thresholds(two, labels, precision=1.0)
    # What it advises is granted, and no more.
    reached = float(re.search(match, str(refused.value))[1])
    assert fit_thresholds(two, labels, precision=reached - 1e-4).shape == (3,)
    with pytest.raises(CodednetError, match="class '2'"):
        fit_thresholds(two, labels, precision=reached + 1e-3)
    nearest = fit_thresholds(two, labels, precision=1.0, nearest=True)
    assert nearest[0] == fit_thresholds(scores, labels, precision=1.0)[0]
    qualities = [one.in_distribution for one in measure_detectors(two, labels, nearest)]
    assert qualities[2].precision == pytest.approx(reached, abs=1e-4)
    for target in ({"precision": 1.5}, {"recall": 0.0}):
        with pytest.raises(CodednetError, match="must be above 0 and at most 1"):
            fit_thresholds(scores, labels, **target)


def test_strangers_are_drawn_down_to_the_same_mixture() -> None:
    scores, labels = table(10, 300)
    everyone, many = np.full(10, -100.0), table(10, 900, hard=0)[0]
    precisions = {
        one.out_of_distribution["many"].precision
        for one in measure_detectors(scores, labels, everyone, out_of_distribution={"many": many})
    }
    assert precisions == {0.1}
    few = measure_detectors(scores, labels, everyone, out_of_distribution={"few": many[:300]})
    assert {one.out_of_distribution["few"].precision for one in few} == {30 / 330}
