import itertools

import numpy as np
import pytest
from scipy import stats

from codednet.data.draws import Stream, integers, sample_keys, uniform

MANY = np.arange(100_000)


@pytest.mark.parametrize(("seed", "epoch", "stream"), [(0, 0, Stream.FLIP), (0, 1, Stream.ROW), (7, 90, Stream.ORDER)])
def test_numbers_are_uniform(seed, epoch, stream):
    draws = uniform(sample_keys(seed, epoch, MANY), stream)
    assert draws.min() >= 0
    assert draws.max() < 1
    assert stats.kstest(draws, "uniform").pvalue > 1e-3


def test_numbers_for_different_things_are_independent():
    some = [
        uniform(sample_keys(seed, epoch, MANY + shift), stream)
        for seed, epoch, shift, stream in itertools.product((0, 1), (0, 1), (0, 1), (Stream.ROW, Stream.COLUMN))
    ]
    correlations = np.corrcoef(some)[np.triu_indices(len(some), 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(len(MANY))
    # Independent pairs fall into the cells of a grid as a uniform distribution has it.
    counts, _, _ = np.histogram2d(some[0], some[1], bins=20, range=[[0, 1], [0, 1]])
    assert stats.chisquare(counts.ravel()).pvalue > 1e-3


def test_neighbours_are_independent():
    draws = uniform(sample_keys(0, 0, MANY), Stream.FLIP)
    counts, _, _ = np.histogram2d(draws[:-1], draws[1:], bins=20, range=[[0, 1], [0, 1]])
    assert stats.chisquare(counts.ravel()).pvalue > 1e-3


def test_a_number_depends_on_what_it_is_for_alone():
    whole = uniform(sample_keys(3, 4, MANY), Stream.ROW)
    some = np.array([70, 3, 3, 99_999])
    assert np.array_equal(uniform(sample_keys(3, 4, some), Stream.ROW), whole[some])


def test_each_turn_of_an_image_has_numbers_of_its_own():
    keys = sample_keys(0, 0, np.array([5, 5, 5]), np.array([0, 1, 2]))
    assert len(set(keys.tolist())) == 3


def test_numbers_stay_the_same_on_every_machine_and_version():
    assert sample_keys(1, 2, np.array([3])).tolist() == [REFERENCE]


def splitmix(value):
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
    return value ^ (value >> 31)


def key(seed, epoch, index):
    state = 0
    for value in (seed, epoch, index):
        state = splitmix((state + splitmix((value + 0x9E3779B97F4A7C15) % 2**64)) % 2**64)
    return state


REFERENCE = key(1, 2, 3)


def test_negative_and_large_seeds_are_seeds():
    keys = {int(sample_keys(seed, 0, np.array([0]))[0]) for seed in (-1, 0, 2**63, 2**70 + 5)}
    assert len(keys) == 4


def test_integers_cover_their_range_evenly():
    draws = integers(sample_keys(0, 0, MANY), Stream.COLUMN, 9)
    assert stats.chisquare(np.bincount(draws, minlength=9)).pvalue > 1e-3
    bounds = np.array([1, 2, 1000] * 100)
    assert (integers(sample_keys(0, 0, np.arange(300)), Stream.MEMBER, bounds) < bounds).all()
