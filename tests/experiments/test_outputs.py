"""Histograms of what detectors say, against logits of networks that are cut out one by one."""

import numpy as np
import pytest
import torch

import codednet
from codednet.experiments import find

OUTPUTS = find("outputs")


@torch.no_grad()
def scores_of(subject, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Images by classes, and labels."""
    batches = list(subject.loader(split))
    images, labels = (torch.cat([getattr(one, name) for one in batches]) for name in ("images", "labels"))
    columns = [codednet.extract(subject.model, [label])(images) for label in range(10)]
    return torch.cat(columns, 1).double().numpy(), labels.numpy()


def histogram(values: np.ndarray, edges: np.ndarray) -> tuple[int, ...]:
    """Counts of bins that hold their lower edge, the last one its upper edge too."""
    bins = len(edges) - 1
    places = np.searchsorted(edges, values.clip(edges[0], edges[-1]), side="right") - 1
    return tuple(np.bincount(places.clip(max=bins - 1), minlength=bins).tolist())


def test_histograms_hold_every_output_of_a_detector_once_in_its_bin(record, subject):
    found, against = record("outputs"), subject.against[0].name
    (test, labels), (noise, _) = scores_of(subject, "test"), scores_of(subject, f"against:{against}")
    edges, both = np.array(found.edges), np.concatenate([test, noise])
    assert (edges[0], edges[-1]) == pytest.approx((both.min(), both.max()), abs=1e-5)
    np.testing.assert_allclose(np.diff(edges), (edges[-1] - edges[0]) / 60, rtol=1e-9)
    detectors = record("detectors").families["extracted"].detectors
    assert (found.num_classes, len(found.classes), found.fit_on) == (10, 10, "tune-fit")
    for label, one in enumerate(found.classes):
        assert (one.label, one.threshold) == (subject.names()[label], detectors[label].threshold)
        assert one.positives == histogram(test[labels == label, label], edges)
        assert one.negatives == histogram(test[labels != label, label], edges)
        assert one.strangers == {against: histogram(noise[:, label], edges)}
        assert (sum(one.positives), sum(one.negatives), sum(one.strangers[against])) == (4, 36, 12)


def test_options_choose_classes_and_bins_and_edges_are_those_of_what_is_shown(subject):
    found = OUTPUTS.measure(subject, OUTPUTS.options(classes=3, bins=5))
    both = np.concatenate([scores_of(subject, split)[0] for split in ("test", f"against:{subject.against[0].name}")])
    assert [one.label for one in found.classes] == list(subject.names()[:3])
    assert (len(found.edges), found.num_classes) == (6, 10)
    assert (found.edges[0], found.edges[-1]) == pytest.approx((both[:, :3].min(), both[:, :3].max()), abs=1e-5)
