"""Detectors by scikit-learn, on logits of networks that are cut out one by one, and histograms of the same logits."""

import copy

import numpy as np
import pytest
import torch
from sklearn import metrics
from torch import Tensor

import codednet
from codednet.models import CodedResNeXt

FAMILIES = ("extracted", "whole", "baseline_whole", "baseline_extracted")


def silenced(twin: CodedResNeXt, words: dict[str, np.ndarray], label: int) -> CodedResNeXt:
    """The plain twin in which nothing comes out of the branches that a class's words do not name."""
    network = copy.deepcopy(twin)
    for name, block in network.named_blocks():
        if name in words:
            kept = torch.tensor(words[name][label]).repeat_interleave(block.config.width)
            with torch.no_grad():
                block.conv3.weight *= kept[None, :, None, None]
    return network


@pytest.fixture(scope="module")
def scores(subject, record):
    """By family and split, images by classes; and labels by split."""
    ours, twin, against = subject.model, subject.twin, f"against:{subject.against[0].name}"
    words = {name: code.words for name, code in zip(ours.coded_blocks, ours.codes, strict=True)}
    cut = [codednet.extract(ours, [label]) for label in range(10)]
    broken = [silenced(twin, words, label) for label in range(10)]
    splits = {"fit": record("detectors").fit_on, "test": "test", "noise": against}
    found, labels = {family: {} for family in FAMILIES}, {}
    for name, split in splits.items():
        batches = list(subject.loader(split))
        images = torch.cat([batch.images for batch in batches])
        labels[name] = torch.cat([batch.labels for batch in batches]).numpy()

        def logits(*networks: CodedResNeXt, images: Tensor = images) -> list[np.ndarray]:
            with torch.no_grad():
                return [network(images).double().numpy() for network in networks]

        found["extracted"][name] = np.concatenate(logits(*cut), axis=1)
        found["whole"][name], found["baseline_whole"][name] = logits(ours, twin)
        columns = [table[:, label] for label, table in enumerate(logits(*broken))]
        found["baseline_extracted"][name] = np.stack(columns, axis=1)
    return found, labels


def assert_quality(quality, positive: np.ndarray, values: np.ndarray, threshold: float) -> None:
    answers = values >= threshold
    assert quality.precision == pytest.approx(metrics.precision_score(positive, answers, zero_division=0))
    assert quality.recall == pytest.approx(metrics.recall_score(positive, answers))
    assert quality.f1 == pytest.approx(metrics.f1_score(positive, answers))
    assert quality.average_precision == pytest.approx(metrics.average_precision_score(positive, values))


@pytest.mark.parametrize("family", FAMILIES)
def test_detectors_are_worth_what_scikit_learn_says_in_and_out_of_distribution(record, subject, scores, family):
    found, labels = record("detectors").families[family], scores[1]["test"]
    test, noise = scores[0][family]["test"], scores[0][family]["noise"]
    (name,) = found.out_of_distribution
    assert name == subject.against[0].name
    assert [one.label for one in found.detectors] == list(subject.names())
    for label, one in enumerate(found.detectors):
        positive = labels == label
        assert_quality(one.in_distribution, positive, test[:, label], one.threshold)
        mixed = np.concatenate([test[positive, label], noise[:, label]])
        assert_quality(one.out_of_distribution[name], np.arange(len(mixed)) < 4, mixed, one.threshold)
    for mean, each in (
        (found.in_distribution, [one.in_distribution for one in found.detectors]),
        (found.out_of_distribution[name], [one.out_of_distribution[name] for one in found.detectors]),
    ):
        for field in ("precision", "recall", "f1", "average_precision"):
            assert getattr(mean, field) == pytest.approx(np.mean([getattr(one, field) for one in each]))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_threshold_is_the_highest_score_of_the_largest_f1_on_images_to_fit_on(record, scores, family):
    labels, table = scores[1]["fit"], scores[0][family]["fit"]
    for label, one in enumerate(record("detectors").families[family].detectors):
        values = np.unique(table[:, label])
        f1 = np.array([metrics.f1_score(labels == label, table[:, label] >= value) for value in values])
        best = values[np.flatnonzero(f1 == f1.max())[-1]]
        assert one.threshold == pytest.approx(best, abs=1e-5)


def test_the_record_says_on_which_images_it_was_fitted_and_measured(record, subject, scores):
    found, labels = record("detectors"), scores[1]
    assert found.fit_on == "tune-fit"
    assert set(labels["fit"].tolist()) == set(range(10))
    assert found.images == {"fit": len(labels["fit"]), "test": 40}
    assert found.strangers == {subject.against[0].name: 12}
    assert not set(subject.data.indices("tune-fit")) & set(subject.data.indices("test"))
    assert found.unreadable == ()


def test_histograms_hold_every_output_of_a_detector_once_in_its_bin(record, subject, scores):
    found, labels = record("outputs"), scores[1]["test"]
    test, noise = scores[0]["extracted"]["test"], scores[0]["extracted"]["noise"]
    edges = np.array(found.edges)
    both = np.concatenate([test, noise])
    assert (edges[0], edges[-1]) == pytest.approx((both.min(), both.max()), abs=1e-5)
    np.testing.assert_allclose(np.diff(edges), (edges[-1] - edges[0]) / 60, rtol=1e-9)

    def histogram(values: np.ndarray) -> tuple[int, ...]:
        places = np.searchsorted(edges, values.clip(edges[0], edges[-1]), side="right") - 1
        return tuple(np.bincount(places.clip(max=59), minlength=60).tolist())

    detectors = record("detectors").families["extracted"].detectors
    assert (found.num_classes, len(found.classes), found.fit_on) == (10, 10, "tune-fit")
    for label, one in enumerate(found.classes):
        assert (one.label, one.threshold) == (subject.names()[label], detectors[label].threshold)
        assert one.positives == histogram(test[labels == label, label])
        assert one.negatives == histogram(test[labels != label, label])
        assert one.strangers == {subject.against[0].name: histogram(noise[:, label])}
