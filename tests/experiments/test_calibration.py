"""Confidences by the paper's own definitions: bins counted, temperatures searched for, nearest words by `cdist`."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn import metrics

from codednet.decoding import draw_split


@pytest.fixture(scope="module")
def said(subject):
    """Logits, labels and agreement (blocks by images) of the images to fit on and of those to test on."""
    found = {}
    for split in ("tune-fit", "test"):
        batches = list(subject.loader(split))
        images, labels = (torch.cat([getattr(one, name) for one in batches]) for name in ("images", "labels"))
        with torch.no_grad():
            logits, energies = subject.model.trace(images)
        named = [
            torch.cdist(one.double(), torch.tensor(code.words).double()).argmin(1)
            for one, code in zip(energies, subject.model.codes, strict=True)
        ]
        found[split] = (logits.double().numpy(), labels.numpy(), (torch.stack(named) == logits.argmax(1)).numpy())
    return found


def bins_of(confidence: np.ndarray, bins: int = 15) -> list[np.ndarray]:
    """Images in each bin ((m - 1) / bins, m / bins]; 0, which a table of agreement may say, is in the first."""
    edges = [-1.0, *(m / bins for m in range(1, bins + 1))]
    return [(confidence > low) & (confidence <= high) for low, high in pairwise(edges)]


def errors(confidence: np.ndarray, right: np.ndarray) -> tuple[float, float]:
    """ECE and MCE."""
    used = [inside for inside in bins_of(confidence) if inside.any()]
    gaps = [abs(right[inside].mean() - confidence[inside].mean()) for inside in used]
    return sum(inside.mean() * gap for inside, gap in zip(used, gaps, strict=True)), max(gaps)


def test_predictions_confidences_are_as_wrong_as_the_papers_definition_of_ece_says(record, said):
    fitted = record("calibration").fitted
    (z, labels, agree), (fit_z, fit_labels, fit_agree) = said["test"], said["tune-fit"]
    right, fit_right = z.argmax(1) == labels, fit_z.argmax(1) == fit_labels
    scale = fitted.h_aug.temperature * (1 + np.array(fitted.h_aug.taus) @ agree)
    tables = {"softmax": softmax(z, 1), "h_T": softmax(z / fitted.h_T, 1), "h_aug": softmax(z / scale[:, None], 1)}
    counts, fit_counts = agree.sum(0), fit_agree.sum(0)
    rows = [fit_right[fit_counts == k].mean() if (fit_counts == k).any() else fit_right.mean() for k in range(5)]
    confidences = {name: table.max(1) for name, table in tables.items()} | {"agreement": np.array(rows)[counts]}
    assert [one.method for one in fitted.methods] == list(confidences)
    for one in fitted.methods:
        confidence = confidences[one.method]
        assert (one.ece, one.mce) == pytest.approx(errors(confidence, right), abs=1e-6)
        assert [(bar.lower, bar.upper) for bar in one.reliability] == [(m / 15, (m + 1) / 15) for m in range(15)]
        for bar, inside in zip(one.reliability, bins_of(confidence), strict=True):
            assert bar.images == inside.sum()
            if bar.images:
                assert (bar.confidence, bar.accuracy) == pytest.approx(
                    (confidence[inside].mean(), right[inside].mean())
                )
        if one.method in tables:
            table, truth = tables[one.method], np.eye(10)[labels]
            assert one.quality.brier == pytest.approx(((table - truth) ** 2).sum(1).mean(), abs=1e-6)
            assert one.quality.nll == pytest.approx(metrics.log_loss(labels, table, labels=range(10)), rel=1e-6)
            each = [errors(table[:, k], labels == k)[0] for k in range(10)]
            assert one.quality.classwise_ece == pytest.approx(np.mean(each), abs=1e-6)
    assert (fitted.fitted_on, fitted.images) == ("tune-fit", len(fit_labels))


def test_temperatures_are_the_likeliest_on_tune_fit(record, said):
    fitted, (z, labels, agree) = record("calibration").fitted, said["tune-fit"]

    def nll(scale) -> float:
        return float(-log_softmax(z / np.reshape(scale, (-1, 1)), axis=1)[np.arange(len(z)), labels].mean())

    found = minimize_scalar(lambda log: nll(np.exp(log)), bounds=(-6.9, 6.9), method="bounded", options={"xatol": 1e-9})
    assert nll(fitted.h_T) == pytest.approx(found.fun, abs=1e-6)
    one = fitted.h_aug

    def augmented(temperature: float, taus: np.ndarray) -> float:
        return nll(temperature * (1 + taus @ agree))

    best, taus = augmented(one.temperature, np.array(one.taus)), np.array(one.taus)
    assert best <= nll(fitted.h_T) + 1e-9
    draw, tried = np.random.default_rng(0), 0
    for _ in range(300):  # none near by is likelier, of those whose least temperature is a hundredth of h_T or more
        temperature, near = one.temperature * np.exp(draw.normal(0, 0.02)), taus + draw.normal(0, 0.02, len(taus))
        if temperature * (1 + np.minimum(near, 0).sum()) >= fitted.h_T / 100:
            assert augmented(temperature, near) >= best - 1e-6
            tried += 1
    assert tried > 30


def test_the_protocol_measures_softmax_on_what_was_not_fitted_on(record, said):
    z, labels = said["test"][:2]
    found = record("calibration").protocol
    assert [(one.share, one.fitted_on, one.measured_on) for one in found.shares] == [(0.25, 10, 30), (0.5, 20, 20)]
    for share in found.shares:
        drawn = [draw_split(labels, 10, share.share, 0, number)[1] for number in range(3)]
        each = [errors(softmax(z[rows], 1).max(1), z[rows].argmax(1) == labels[rows]) for rows in drawn]
        softmaxes = next(one for one in share.methods if one.method == "softmax")
        assert (softmaxes.ece.mean, softmaxes.mce.mean) == pytest.approx(tuple(np.mean(each, axis=0)), abs=1e-6)
        assert softmaxes.ece.std == pytest.approx(np.std([ece for ece, _ in each], ddof=1), abs=1e-6)
