"""Accuracy beside the plain twin's, counted image by image, and what chance could have done by other people's tests."""

import numpy as np
import pytest
import torch
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest
from sklearn import metrics

from codednet.experiments import Subject, find
from codednet.experiments.accuracy import compare, mcnemar
from codednet.experiments.joint import Difference, paired_bootstrap
from codednet.runs import open_run

ONE_IMAGE = 1 / 40 + 1e-9


@pytest.fixture(scope="module")
def answers(subject, twin_run, test_batch):
    """Whether the run, and its twin, name the class of each test image."""
    images, labels = test_batch
    with torch.no_grad():
        said = [network(images).argmax(1) for network in (subject.model, open_run(twin_run).load_model())]
    return [(one == labels).numpy() for one in said]


def test_accuracy_is_the_share_of_test_images_whose_class_the_largest_logit_names(record, answers):
    found = record("accuracy")
    ours, theirs = answers
    assert (found.split, found.images) == ("test", 40)
    assert found.accuracy.mean == pytest.approx(ours.mean(), abs=1e-12)
    assert found.twin.accuracy.mean == pytest.approx(theirs.mean(), abs=1e-12)
    assert found.twin.difference.mean == pytest.approx(ours.mean() - theirs.mean(), abs=1e-12)


def test_the_record_says_what_was_trained_as_the_config_does(record, subject):
    config = yaml.safe_load(subject.folder.config_file.read_text())
    found = record("accuracy")
    assert (found.mu, found.drop_branch) == (config["coding"]["mu"], config["coding"]["drop_branch"])
    assert (found.data, found.model) == (config["data"]["name"], config["model"]["name"])


def test_images_are_parted_by_who_is_right_and_judged_by_scipys_test(record, answers):
    twin = record("accuracy").twin
    counts = metrics.confusion_matrix(*answers, labels=[True, False]).tolist()
    assert [[twin.both_right, twin.only_run], [twin.only_twin, twin.both_wrong]] == counts
    alone = twin.only_run + twin.only_twin
    expected = binomtest(twin.only_run, alone).pvalue if alone else 1.0
    assert twin.p_value == pytest.approx(expected, rel=1e-9)


def test_the_twin_is_not_taken_for_the_run():
    draw = np.random.default_rng(3)
    ours, theirs = draw.random(400) < 0.8, draw.random(400) < 0.6
    found = compare(torch.tensor(ours), torch.tensor(theirs))
    counts = [found.both_right, found.only_run, found.only_twin, found.both_wrong]
    assert counts == metrics.confusion_matrix(ours, theirs, labels=[True, False]).ravel().tolist()
    assert found.accuracy.mean == pytest.approx(theirs.mean(), abs=1e-12)
    assert found.difference.mean == pytest.approx(ours.mean() - theirs.mean(), abs=1e-12)
    assert found.difference.verdict == "better"
    assert found.p_value == pytest.approx(binomtest(found.only_run, found.only_run + found.only_twin).pvalue, rel=1e-9)


@given(st.integers(0, 300), st.integers(0, 300))
@example(4000, 3800)
@example(0, 1)
def test_the_p_value_is_that_of_scipys_binomial_test_of_a_fair_coin(first, second):
    expected = binomtest(first, first + second).pvalue if first + second else 1.0
    assert mcnemar(first, second) == pytest.approx(expected, rel=1e-9)
    assert mcnemar(second, first) == mcnemar(first, second)


def test_the_interval_of_an_accuracy_is_that_of_a_binomial(record, answers):
    found = record("accuracy")
    for right, interval in zip(answers, (found.accuracy, found.twin.accuracy), strict=True):
        # Right answers among images drawn anew are as many as a binomial says.
        ends = binom.ppf([0.025, 0.975], 40, right.mean()) / 40
        assert (interval.low, interval.high) == pytest.approx(tuple(ends), abs=ONE_IMAGE)


def test_the_interval_of_the_difference_is_that_of_images_drawn_anew_with_both_answers(record, answers):
    found = record("accuracy").twin.difference
    gains = answers[0].astype(int) - answers[1]
    drawn = gains[np.random.default_rng(5).integers(0, 40, (10_000, 40))].mean(1)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=ONE_IMAGE)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_bootstrap_is_a_naive_resampling_of_the_images(level):
    draw = np.random.default_rng(1)
    first = draw.random(600) < 0.8
    second = np.where(draw.random(600) < 0.7, first, draw.random(600) < 0.6)
    found = paired_bootstrap(torch.tensor(first), torch.tensor(second), level=level)
    gains = first.astype(int) - second
    drawn = gains[draw.integers(0, 600, (10_000, 600))].mean(1)
    ends = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    assert found.mean == pytest.approx(gains.mean(), abs=1e-12)
    # Of ten thousand draws each, both ends are known to about a twenty-fifth of a standard deviation.
    assert (found.low, found.high) == pytest.approx(tuple(ends), abs=0.15 * drawn.std())
    assert (found.high - found.low) / drawn.std() == pytest.approx({0.5: 1.349, 0.95: 3.920}[level], abs=0.2)


def test_the_verdict_is_what_the_interval_says():
    verdicts = [Difference(mean=0.0, low=low, high=low + 0.2).verdict for low in (0.01, -0.1, -0.3, 0.0)]
    assert verdicts == ["better", "undecided", "worse", "undecided"]


def test_without_a_baseline_there_is_no_twin_and_the_accuracy_is_the_same(record, run):
    experiment = find("accuracy")
    alone = experiment.measure(Subject(run, device="cpu"), experiment.options())
    assert alone.twin is None
    assert alone.accuracy == record("accuracy").accuracy
    assert len(experiment.tables(alone)) == 1
