"""The promise of an exit threshold holds as often as it is said to, whatever the images."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from codednet.decoding import (
    THRESHOLDS,
    Posteriors,
    allowed_bad,
    choose_threshold,
    exit_loss,
    needed_images,
    risk_p_value,
)
from codednet.errors import CodednetError

DRAWS = 500


def naive_loss(posteriors: Posteriors, threshold: float) -> list[bool]:
    found = []
    for image in range(len(posteriors.labels)):
        exits = [look for look, sure in enumerate(posteriors.confidence[:, image]) if sure >= threshold]
        right = posteriors.full[image] == posteriors.labels[image]
        found.append(bool(exits and right and posteriors.named[exits[0], image] != posteriors.labels[image]))
    return found


def world(images: int, doubt: float, seed: int) -> Posteriors:
    """Images of two looks whose confidence errs by `doubt`; between the looks the risk need not rise and fall alike."""
    draw = np.random.default_rng(seed)
    confidence = 1 - draw.random((2, images)) ** np.array([[2], [4]])
    wrong = draw.random((2, images)) < doubt * (1 - confidence)
    # A part of the images is surely wrong at a narrow range of confidence.
    wrong |= (confidence > 0.98) & (confidence < 0.985)
    labels = np.zeros(images, np.int64)
    full = (draw.random(images) < 0.1).astype(np.int64)
    return Posteriors(*map(torch.from_numpy, (confidence, wrong.astype(np.int64), full, labels)))


@pytest.mark.parametrize(
    ("epsilon", "delta", "images", "doubt"), [(0.02, 0.1, 400, 0.2), (0.05, 0.05, 300, 0.6), (0.01, 0.05, 600, 0.05)]
)
def test_rules_break_their_promise_no_more_often_than_delta(epsilon, delta, images, doubt) -> None:
    population = world(100_000, doubt, 1)
    thresholds = torch.tensor(THRESHOLDS, dtype=torch.float64)
    # Whether each image is bad at each threshold: then the risk of every threshold is known.
    bad = torch.stack([exit_loss(*population, float(threshold)) for threshold in thresholds])
    risks = bad.double().mean(1)
    assert risks[0] < epsilon < risks[-1]
    drawn = np.random.default_rng(2).integers(0, 100_000, (DRAWS, images))
    counts = torch.stack([bad[:, rows].sum(1) for rows in torch.from_numpy(drawn)])
    place = {threshold: number for number, threshold in enumerate(THRESHOLDS)}
    chosen = [
        choose_threshold(lambda t, row=row: int(row[place[t]]), images, epsilon, delta).threshold for row in counts
    ]
    broken = sum(threshold is not None and risks[place[threshold]] > epsilon for threshold in chosen) / DRAWS
    assert broken <= delta + 3 * math.sqrt(delta * (1 - delta) / DRAWS)
    # No promise is kept by never exiting.
    assert sum(threshold is not None for threshold in chosen) > 0.5 * DRAWS


@given(st.integers(1, 400), st.sampled_from([0.005, 0.01, 0.05, 0.3]), st.data())
def test_the_p_value_is_the_chance_of_so_few_bad_images(images, epsilon, data) -> None:
    bad = data.draw(st.integers(0, images))
    terms = [math.comb(images, k) * epsilon**k * (1 - epsilon) ** (images - k) for k in range(bad + 1)]
    assert risk_p_value(bad, images, epsilon) == pytest.approx(math.fsum(terms), rel=1e-9, abs=1e-12)


def test_one_percent_with_five_percent_of_doubt_needs_299_images() -> None:
    assert needed_images(0.01, 0.05) == 299


@given(st.floats(0.001, 0.9), st.floats(0.001, 0.9))
def test_as_many_images_are_needed_as_pass_without_a_bad_one(epsilon, delta) -> None:
    needed = needed_images(epsilon, delta)
    assert risk_p_value(0, needed, epsilon) <= delta * (1 + 1e-9)
    assert needed == 1 or risk_p_value(0, needed - 1, epsilon) > delta * (1 - 1e-9)
    assert allowed_bad(needed - 1, epsilon, delta) == -1 if needed > 1 else True


@given(st.integers(1, 3000), st.sampled_from([0.005, 0.01, 0.02, 0.1]), st.sampled_from([0.01, 0.05, 0.2]))
def test_as_many_bad_images_are_allowed_as_pass(images, epsilon, delta) -> None:
    allowed = allowed_bad(images, epsilon, delta)
    assert allowed < 0 or risk_p_value(allowed, images, epsilon) <= delta
    assert risk_p_value(allowed + 1, images, epsilon) > delta


@given(st.integers(0, 10_000), st.floats(0, 1.1))
def test_an_image_is_bad_if_right_in_full_and_wrong_where_it_leaves(seed, threshold) -> None:
    draw = torch.Generator().manual_seed(seed)
    posteriors = Posteriors(
        torch.rand(3, 20, generator=draw),
        torch.randint(3, (3, 20), generator=draw),
        torch.randint(3, (20,), generator=draw),
        torch.randint(3, (20,), generator=draw),
    )
    assert exit_loss(*posteriors, threshold).tolist() == naive_loss(posteriors, threshold)


def test_too_few_images_mean_never_to_exit_and_say_how_many_it_takes() -> None:
    choice = choose_threshold(lambda _: 0, 298, 0.01, 0.05)
    assert choice.threshold is None
    assert choice.tested == 0
    assert choice.why == (
        "a risk of 0.01 cannot be promised with probability 0.95 on 298 images: it takes 299 or more."
    )
    assert choose_threshold(lambda _: 0, 299, 0.01, 0.05).threshold == THRESHOLDS[-1]


def test_a_decoder_too_often_wrong_when_sure_means_never_to_exit() -> None:
    choice = choose_threshold(lambda _: 7, 600, 0.01, 0.05)
    assert (choice.threshold, choice.bad, choice.tested) == (None, 7, 1)
    assert choice.why == "even the strictest threshold is wrong too often to promise a risk of 0.01: 7 of 600."


def test_the_sequence_ends_at_the_first_threshold_that_fails() -> None:
    bad = {0.99: 0, 0.9: 1, 0.8: 5, 0.7: 0}
    choice = choose_threshold(bad.__getitem__, 600, 0.01, 0.05, list(bad))
    assert (choice.threshold, choice.bad, choice.tested) == (0.9, 1, 3)
    assert choice.p_value == risk_p_value(1, 600, 0.01) <= 0.05


@pytest.mark.parametrize(("epsilon", "delta", "name"), [(0, 0.05, "risk"), (1, 0.05, "risk"), (0.01, 0, "delta")])
def test_what_is_no_probability_is_refused(epsilon, delta, name) -> None:
    with pytest.raises(CodednetError, match=f"{name} is a probability above 0 and below 1"):
        needed_images(epsilon, delta)
