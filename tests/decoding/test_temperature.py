"""Temperatures are the likeliest ones, and positive for every pattern of agreement."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from torch import Tensor
from torch.nn.functional import cross_entropy

from codednet.decoding import Temperature, assemble, fit_temperature, fit_temperatures, literal_fit
from codednet.errors import CodednetError


def made_up(seed: int, images: int = 400, classes: int = 5, blocks: int = 3, scale: float = 3.0) -> tuple[Tensor, ...]:
    """Overconfident logits, labels, and agreement that tells right from wrong a little."""
    draw = torch.Generator().manual_seed(seed)
    labels = torch.randint(classes, (images,), generator=draw)
    logits = torch.randn(images, classes, generator=draw)
    logits[torch.arange(images), labels] += 1.5
    right = logits.argmax(1) == labels
    agree = torch.rand(images, blocks, generator=draw) < torch.where(right, 0.8, 0.4)[:, None]
    return scale * logits, labels, agree


def nll(fit: Temperature, logits: Tensor, labels: Tensor, agree: Tensor) -> float:
    return float(cross_entropy(logits.double() / fit.of(agree)[:, None], labels))


@given(seed=st.integers(0, 10_000), scale=st.sampled_from([0.05, 1.0, 3.0, 40.0]), images=st.sampled_from([3, 60, 400]))
def test_one_temperature_is_scipys_minimiser(seed, scale, images) -> None:
    logits, labels, _ = made_up(seed, images, scale=scale)

    def loss(log_temperature: float) -> float:
        return float(cross_entropy(logits.double() / np.exp(log_temperature), labels))

    oracle = minimize_scalar(loss, bounds=(np.log(1e-3), np.log(1e3)), method="bounded", options={"xatol": 1e-10})
    found = fit_temperature(logits, labels).temperature
    assert loss(np.log(found)) <= oracle.fun + 1e-9
    # Where all images are right, or no better than by chance, the likelihood has no maximum but at a bound.
    if oracle.fun > 1e-6 and 2e-3 < found < 5e2:
        assert found == pytest.approx(np.exp(oracle.x), rel=1e-3)


@given(st.floats(1e-3, 1e3), st.lists(st.tuples(st.floats(0, 1e3), st.floats(0, 1e3)), min_size=1, max_size=6))
def test_whatever_the_parts_every_pattern_is_positive(least, pairs) -> None:
    parts = torch.tensor([[least, *(p for p, _ in pairs), *(n for _, n in pairs)]], dtype=torch.float64)
    temperature, taus = assemble(parts)
    patterns = torch.tensor(list(product([False, True], repeat=len(pairs))))
    found = Temperature(temperature=float(temperature), taus=tuple(taus[0].tolist())).of(patterns)
    assert (found >= least * (1 - 1e-9)).all()
    by_hand = [least + sum(p if one else n for one, (p, n) in zip(row, pairs, strict=True)) for row in patterns]
    assert found.tolist() == pytest.approx(by_hand)


@given(st.floats(1e-2, 1e2), st.lists(st.floats(-0.16, 5), min_size=1, max_size=6))
def test_all_that_are_positive_for_every_pattern_come_from_some_parts(temperature, taus) -> None:
    sums = temperature * torch.tensor([taus], dtype=torch.float64)
    positive, negative = sums.clamp_min(0), -sums.clamp_max(0)
    parts = torch.cat((temperature - negative.sum(1, keepdim=True), positive, negative), 1)
    assert parts[0, 0] > 0
    found = assemble(parts)
    assert float(found[0]) == pytest.approx(temperature)
    assert found[1][0].tolist() == pytest.approx(taus, abs=1e-12)


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), images=st.sampled_from([12, 80, 400]), scale=st.sampled_from([0.3, 3.0, 30.0]))
def test_augmented_temperatures_are_positive_and_no_less_likely_than_one(seed, images, scale) -> None:
    logits, labels, agree = made_up(seed, images, scale=scale)
    fit = fit_temperature(logits, labels, agree)
    patterns = torch.tensor(list(product([False, True], repeat=3)))
    assert (fit.of(patterns) > 0).all()
    plain = fit_temperature(logits, labels)
    assert nll(fit, logits, labels, agree) <= nll(plain, logits, labels, agree) + 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_the_converged_fit_is_no_less_likely_than_the_papers_600_steps(seed) -> None:
    logits, labels, agree = made_up(seed)
    for agreed in (None, agree):
        converged, literal = fit_temperature(logits, labels, agreed), literal_fit(logits, labels, agreed)
        assert nll(converged, logits, labels, agree) <= nll(literal, logits, labels, agree) + 1e-9


def test_scipy_finds_nothing_likelier_from_other_starts() -> None:
    logits, labels, agree = made_up(3)
    fit = fit_temperature(logits, labels, agree)

    def loss(parts: np.ndarray) -> tuple[float, np.ndarray]:
        x = torch.tensor(parts, requires_grad=True)
        scale = x[0] + torch.where(agree, x[1:4], x[4:]).sum(1)
        value = cross_entropy(logits.double() / scale[:, None], labels)
        value.backward()
        return float(value.detach()), x.grad.numpy()

    for seed in range(5):
        start = np.random.default_rng(seed).uniform(0.1, 4, 7)
        found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0.03, 100)] + [(0, 100)] * 6)
        assert nll(fit, logits, labels, agree) <= found.fun + 1e-7


def test_splits_fitted_together_are_fitted_as_each_alone() -> None:
    tables = [made_up(seed) for seed in range(4)]
    logits, labels, agree = (torch.stack(column) for column in zip(*tables, strict=True))
    together = fit_temperatures(logits, labels, agree)
    assert together.converged.all()
    for split, table in enumerate(tables):
        alone = fit_temperature(*table)
        assert together.split(split).temperature == pytest.approx(alone.temperature, rel=1e-6)
        assert together.split(split).taus == pytest.approx(alone.taus, abs=1e-6)
        assert float(together.nll[split]) == pytest.approx(nll(alone, *table))


def test_decoders_that_always_or_never_agree_leave_one_temperature() -> None:
    logits, labels, _ = made_up(0)
    plain = fit_temperature(logits, labels)
    constant = torch.tensor([True, False]).expand(len(labels), -1)
    fit = fit_temperature(logits, labels, constant)
    torch.testing.assert_close(fit.of(constant), plain.of(constant), rtol=1e-6, atol=0)


def test_where_every_image_is_right_the_temperature_stays_finite_and_positive() -> None:
    labels = torch.arange(40) % 4
    logits = torch.eye(4)[labels] * 5
    for agree in (None, torch.ones(40, 2, dtype=torch.bool)):
        fit = fit_temperature(logits, labels, agree)
        assert 0 < fit.temperature < 1
        assert (fit.of(torch.ones(1, 2, dtype=torch.bool)) > 0).all()


def test_what_is_fitted_stays_as_it_was() -> None:
    logits = torch.randn(30, 1, dtype=torch.float64)
    before = logits.clone()
    fit_temperature(logits, torch.zeros(30, dtype=torch.int64))
    assert torch.equal(logits, before)


def test_an_augmented_temperature_spreads_and_sharpens_by_agreement() -> None:
    fit = Temperature(temperature=2.0, taus=(0.5, -0.25))
    agree = torch.tensor([[False, False], [True, False], [False, True], [True, True]])
    assert fit.of(agree).tolist() == [2.0, 3.0, 1.5, 2.5]
    logits = torch.tensor([[1.0, 2.0, 4.0]]).expand(4, -1)
    expected = (logits.double() / fit.of(agree)[:, None]).softmax(1)
    torch.testing.assert_close(fit.probabilities(logits, agree), expected)
    assert Temperature.from_document(fit.document()) == fit


def test_temperatures_that_some_pattern_makes_negative_are_refused() -> None:
    message = r"the negative taus together above -1; got T=2 and taus \[-0\.6, 0\.9, -0\.5\]"
    with pytest.raises(CodednetError, match=message):
        Temperature(temperature=2.0, taus=(-0.6, 0.9, -0.5))
    with pytest.raises(CodednetError, match="T above 0"):
        Temperature(temperature=0.0)
    with pytest.raises(CodednetError, match="taus for 2 early decoders; the agreement is of 3"):
        Temperature(temperature=1.0, taus=(0.1, 0.2)).of(torch.ones(1, 3, dtype=torch.bool))


def test_what_cannot_be_fitted_on_is_refused() -> None:
    labels = torch.zeros(2, dtype=torch.int64)
    with pytest.raises(CodednetError, match="got 2 images and logits that hold NaN or infinity"):
        fit_temperature(torch.tensor([[1.0, float("nan")], [0.0, 1.0]]), labels)
    with pytest.raises(CodednetError, match="one image or more; got 0 images"):
        fit_temperature(torch.zeros(0, 3), labels[:0])
