"""Scores of strangers, each against a naive form, and how well they tell them apart, against scikit-learn."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from codednet.decoding import (
    FROM_CODE,
    FROM_LOGITS,
    Channel,
    auroc,
    fit_channel,
    fpr95,
    separations,
    stranger_scores,
)
from codednet.errors import CodednetError

SCORES = st.lists(st.integers(0, 6) | st.floats(-3, 3), min_size=1, max_size=60)


@given(SCORES, SCORES)
def test_auroc_is_scikit_learns(own, strangers) -> None:
    truth = [0] * len(own) + [1] * len(strangers)
    assert auroc(own, strangers) == pytest.approx(roc_auc_score(truth, own + strangers))


@given(SCORES, SCORES)
def test_fpr95_is_the_share_of_strangers_below_the_strictest_limit_that_passes_95_percent(own, strangers) -> None:
    passing = [limit for limit in own if 20 * sum(score <= limit for score in own) >= 19 * len(own)]
    assert fpr95(own, strangers) == sum(score <= min(passing) for score in strangers) / len(strangers)


@pytest.fixture(scope="module")
def channel(model, fit) -> Channel:
    return fit_channel(fit.energies, model.codes, fit.labels)


def test_the_channel_is_the_density_of_independent_branches(model, fit, risk, channel) -> None:
    x = np.concatenate([e.double().sqrt().numpy() for e in fit.energies], axis=1)
    words = np.concatenate([code.words for code in model.codes], axis=1)
    means, spreads = np.empty((2, 40)), np.empty((2, 40))
    for column in range(40):
        for bit in (0, 1):
            some = x[words[fit.labels, column] == bit, column]
            means[bit, column] = some.mean()
            squares = ((some - some.mean()) ** 2).sum() + 4 * x[:, column].var()
            spreads[bit, column] = np.sqrt(squares / (len(some) + 4))
    y = np.concatenate([e.double().sqrt().numpy() for e in risk.energies], axis=1)
    found = channel.log_likelihoods(risk.energies).numpy()
    for label in range(10):
        bits = words[label]
        density = norm.logpdf(y, means[bits, range(40)], spreads[bits, range(40)]) + np.log(2 * np.pi) / 2
        np.testing.assert_allclose(found[:, label], density.sum(1), rtol=1e-4)
    # The classes are told apart by it, too.
    assert (found.argmax(1) == risk.labels.numpy()).mean() > 0.4


def test_a_bit_that_no_image_has_shown_takes_the_mean_of_all(model, fit) -> None:
    words = torch.tensor([[1, 0], [1, 1]])
    energies = [torch.rand(8, 2) + 0.5]
    channel = fit_channel(energies, [words], torch.arange(8) % 2)
    assert torch.isfinite(channel.log_likelihood(energies)).all()
    assert float(channel.means[0, 0]) == pytest.approx(float(energies[0][:, 0].double().sqrt().mean()))


def test_scores_are_what_they_are_called(model, risk, channel) -> None:
    found = stranger_scores(risk.logits, risk.energies, model.codes, channel)
    assert tuple(found) == FROM_CODE + FROM_LOGITS
    for image in range(20):
        z = risk.logits[image].double()
        nearest, second, agreeing = [], [], 0
        for energies, code in zip(risk.energies, model.codes, strict=True):
            gaps = code.rate * energies[image].double().numpy() - code.words
            distances = np.sort((gaps**2).mean(1))
            nearest.append(distances[0])
            second.append(distances[1])
            agreeing += int((gaps**2).mean(1).argmin() == int(z.argmax()))
        p = z.softmax(0)
        expected = {
            "distance": np.mean(nearest),
            "margin": np.mean(nearest) - np.mean(second),
            "disagreement": 1 - agreeing / 4,
            "max_softmax": -float(p.max()),
            "max_logit": -float(z.max()),
            "energy_score": -float(z.exp().sum().log()),
        }
        assert {name: float(found[name][image]) for name in expected} == pytest.approx(expected, rel=1e-5)
    assert torch.equal(found["channel"], -channel.log_likelihood(risk.energies))


def test_every_score_is_compared_with_itself_on_the_other_images() -> None:
    own, other = torch.arange(10.0), torch.arange(10.0) + 4
    distance, logit = separations({"distance": own, "max_logit": own}, {"distance": own, "max_logit": other})
    assert (distance.score, distance.auroc, distance.fpr95) == ("distance", 0.5, fpr95(own, own))
    assert (logit.score, logit.auroc) == ("max_logit", auroc(own, other))
    assert logit.auroc > 0.5


def test_a_network_without_coded_blocks_has_the_scores_of_its_logits(risk) -> None:
    found = stranger_scores(risk.logits, [], [], None)
    assert tuple(found) == FROM_LOGITS


def test_what_cannot_be_compared_is_refused(model, risk, channel) -> None:
    with pytest.raises(CodednetError, match=r"got shapes \(0,\) and \(2,\)"):
        auroc([], [0.1, 0.2])
    with pytest.raises(CodednetError, match="2 classes or more; this one has 1"):
        stranger_scores(risk.logits[:, :1], risk.energies, model.codes, channel)
