"""Detectors judged by scikit-learn, on logits of networks that are cut out one by one, and of silenced twins."""

import copy
import shutil

import numpy as np
import pytest
import torch
from sklearn import metrics

import codednet
from codednet.experiments import Against, Subject, find
from codednet.models import CodedResNeXt
from codednet.runs import RunFolder, open_run

DETECTORS = find("detectors")
FAMILIES = ("extracted", "whole", "baseline_whole", "baseline_extracted")


def louder(run, to) -> RunFolder:
    """A copy with later blocks that are heard, and any classifier: of so short a training little hangs on a branch."""
    folder = open_run(shutil.copytree(run, to))
    model = folder.load_model()
    with torch.no_grad():
        for name, block in model.named_blocks():
            block.bn3.weight[:] = 1 if name > "layer2" else block.bn3.weight
        model.fc.weight[:] = torch.randn(model.fc.weight.shape, generator=torch.Generator().manual_seed(0))
    codednet.save(model, folder.model)
    return folder


@pytest.fixture(scope="module")
def loud(finished_run, twin_run, noise, tmp_path_factory) -> Subject:
    folder = tmp_path_factory.mktemp("loud")
    run, twin = louder(finished_run, folder / "run"), louder(twin_run, folder / "twin")
    return Subject(run, baseline=twin, against=[Against(name=str(noise))], device="cpu")


@pytest.fixture(scope="module")
def measured(loud):
    return DETECTORS.measure(loud, DETECTORS.options())


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
@torch.no_grad()
def scores(loud, measured):
    """By family and split, images by classes; and labels by split."""
    ours, twin = loud.model, loud.twin
    words = {name: code.words for name, code in zip(ours.coded_blocks, ours.codes, strict=True)}
    cut = [codednet.extract(ours, [label]) for label in range(10)]
    broken = [silenced(twin, words, label) for label in range(10)]
    found, labels = {family: {} for family in FAMILIES}, {}
    for name, split in (("fit", measured.fit_on), ("test", "test"), ("noise", f"against:{loud.against[0].name}")):
        batches = list(loud.loader(split))
        images = torch.cat([batch.images for batch in batches])
        labels[name] = torch.cat([batch.labels for batch in batches]).numpy()
        found["extracted"][name] = torch.cat([network(images) for network in cut], 1).double().numpy()
        found["whole"][name], found["baseline_whole"][name] = (one(images).double().numpy() for one in (ours, twin))
        columns = [network(images)[:, label] for label, network in enumerate(broken)]
        found["baseline_extracted"][name] = torch.stack(columns, 1).double().numpy()
    return found, labels


def assert_quality(quality, positive: np.ndarray, values: np.ndarray, threshold: float) -> None:
    answers = values >= threshold
    assert quality.precision == pytest.approx(metrics.precision_score(positive, answers, zero_division=0))
    assert quality.recall == pytest.approx(metrics.recall_score(positive, answers))
    assert quality.f1 == pytest.approx(metrics.f1_score(positive, answers))
    assert quality.average_precision == pytest.approx(metrics.average_precision_score(positive, values))


@pytest.mark.parametrize("family", FAMILIES)
def test_detectors_are_worth_what_scikit_learn_says_in_and_out_of_distribution(measured, loud, scores, family):
    found, labels = measured.families[family], scores[1]["test"]
    test, noise = scores[0][family]["test"], scores[0][family]["noise"]
    (name,) = found.out_of_distribution
    assert name == loud.against[0].name
    assert [one.label for one in found.detectors] == list(loud.names())
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
def test_a_threshold_is_the_highest_score_of_the_largest_f1_on_images_to_fit_on(measured, scores, family):
    labels, table = scores[1]["fit"], scores[0][family]["fit"]
    for label, one in enumerate(measured.families[family].detectors):
        values = np.unique(table[:, label])
        f1 = np.array([metrics.f1_score(labels == label, table[:, label] >= value) for value in values])
        best = values[np.flatnonzero(f1 == f1.max())[-1]]
        assert one.threshold == pytest.approx(best, rel=1e-6, abs=1e-5)  # scores are float32


def test_the_record_says_on_which_images_it_was_fitted_and_measured(measured, loud, scores):
    labels = scores[1]
    assert measured.fit_on == "tune-fit"
    assert set(labels["fit"].tolist()) == set(range(10))
    assert measured.images == {"fit": len(labels["fit"]), "test": 40}
    assert measured.strangers == {loud.against[0].name: 12}
    assert not set(loud.data.indices("tune-fit")) & set(loud.data.indices("test"))
    assert measured.unreadable == ()
