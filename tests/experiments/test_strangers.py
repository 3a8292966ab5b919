"""Images of no class, told apart by scores written out from traces and judged by scikit-learn's curves."""

import numpy as np
import pytest
import torch
from scipy.special import logsumexp, softmax
from sklearn import metrics

from codednet.decoding import fit_channel


@torch.no_grad()
def scores_of(subject, split: str, channel) -> dict[str, np.ndarray]:
    """Every score of each image, the larger the stranger it is."""
    logits, energies = subject.model.trace(torch.cat([one.images for one in subject.loader(split)]))
    z, codes = logits.double().numpy(), subject.model.codes
    distances = np.stack(
        [
            torch.cdist(code.rate * one.double(), torch.tensor(code.words).double()).numpy()
            for one, code in zip(energies, codes, strict=True)
        ]
    )
    squares = np.sort(distances**2 / 10, axis=2)
    return {
        "distance": squares[:, :, 0].mean(0),
        "margin": (squares[:, :, 0] - squares[:, :, 1]).mean(0),
        "disagreement": (distances.argmin(2) != z.argmax(1)).mean(0),
        "channel": -channel.log_likelihood(energies).numpy(),
        "max_softmax": -softmax(z, axis=1).max(1),
        "max_logit": -z.max(1),
        "energy_score": -logsumexp(z, axis=1),
    }


def test_scores_tell_strangers_apart_as_scikit_learns_roc_curve_says(record, subject):
    found = record("strangers")
    (one,) = found.sets
    fit = list(subject.loader("tune-fit"))
    with torch.no_grad():
        energies = subject.model.trace(torch.cat([batch.images for batch in fit])).energies
    channel = fit_channel(energies, subject.model.codes, torch.cat([batch.labels for batch in fit]))
    own, strangers = (scores_of(subject, split, channel) for split in ("test", f"against:{one.against}"))
    assert [score.score for score in one.scores] == list(own)
    assert (found.fitted_on, found.split, found.images, one.images) == ("tune-fit", "test", 40, 12)
    assert one.against == subject.against[0].name
    aurocs = {}
    is_own = np.arange(52) < 40
    for score in one.scores:
        familiar = -np.concatenate([own[score.score], strangers[score.score]])
        aurocs[score.score] = metrics.roc_auc_score(is_own, familiar)
        assert score.auroc == pytest.approx(aurocs[score.score], abs=1e-9)
        passing_strangers, passing_own, _ = metrics.roc_curve(is_own, familiar, drop_intermediate=False)
        assert score.fpr95 == pytest.approx(passing_strangers[np.flatnonzero(passing_own >= 0.95)[0]], abs=1e-9)
    names = list(own)
    best = [max(some, key=aurocs.__getitem__) for some in (names[:4], names[4:])]
    assert [one.best_of_code, one.best_of_logits] == best
    assert one.code_wins == (aurocs[best[0]] > aurocs[best[1]])
    assert ("the code wins" in one.sentence()) == one.code_wins
