import importlib.util
import time
from math import comb
from pathlib import Path

import numpy as np
import pytest

from codednet.codes import Code, design_code, distance_bound
from codednet.errors import CodednetError, ImpossibleCodeError

_spec = importlib.util.spec_from_file_location("table", Path(__file__).with_name("table.py"))
table = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(table)


def even_spread(classes, branches, active):
    return 0 if classes * active % branches == 0 else 1


@pytest.mark.parametrize("row", table.REACHED[:4] + table.REACHED[6:13], ids=str)
def test_small_sizes_reach_their_distance_and_spread(row):
    classes, branches, active, distance, spread = row
    code = design_code(classes, branches, active)
    assert code.min_distance >= distance
    assert code.spread <= spread


@pytest.mark.slow
@pytest.mark.parametrize("row", [*table.REACHED[4:6], *table.REACHED[13:16], table.REACHED[17]], ids=str)
def test_large_sizes_reach_their_distance_and_spread(row):
    classes, branches, active, distance, spread = row
    code = design_code(classes, branches, active)
    assert code.min_distance >= distance
    assert code.spread <= spread


EDGES = [
    (1, 1, 1, 2),
    (1, 5, 5, 10),
    (5, 5, 1, 2),
    (5, 5, 4, 2),
    (6, 4, 2, 2),
    (252, 10, 5, 2),
    (251, 10, 5, 2),
    (120, 10, 7, 2),
    (3, 9, 3, 6),
    (2, 10, 4, 8),
    (2, 100, 99, 2),
    (7, 7, 3, 4),
    (14, 8, 4, 4),
    (13, 13, 4, 6),
    (22, 11, 5, 4),
    (31, 31, 6, 10),
    (57, 57, 8, 14),
    (4845, 20, 4, 2),
    (12_870, 16, 8, 2),
]


@pytest.mark.parametrize("size", EDGES, ids=str)
def test_edge_sizes_are_optimal_and_even(size):
    classes, branches, active, distance = size
    code = design_code(classes, branches, active)
    assert code.words.shape == (classes, branches)
    assert (code.active, code.min_distance) == (active, distance)
    assert code.is_optimal
    assert code.spread == even_spread(classes, branches, active)


@pytest.mark.parametrize("size", [(37, 29, 14), (50, 97, 10), (1000, 37, 9), (300, 101, 20), (1000, 1000, 50)], ids=str)
def test_awkward_sizes_give_a_valid_code_within_their_time(size):
    started = time.monotonic()
    code = design_code(*size, seconds=4)
    assert time.monotonic() - started < 4 + 4  # the limit is looked at between pieces of work
    assert code.words.shape == size[:2]
    assert 2 < code.min_distance <= distance_bound(*size)
    assert code.spread <= 4


@pytest.mark.parametrize("seed", range(3))
def test_a_tiny_time_limit_still_gives_a_valid_even_code(seed):
    started = time.monotonic()
    code = design_code(1000, 64, 16, seed=seed, seconds=0.01)
    assert time.monotonic() - started < 3
    assert code.spread == 0


def test_progress_is_told():
    told = []
    design_code(20, 16, 4, progress=told.append)
    assert told
    assert "distance" in told[0]


def test_same_seed_same_code_and_other_seeds_other_codes():
    assert design_code(47, 20, 5, seed=3) == design_code(47, 20, 5, seed=3)
    assert design_code(47, 20, 5, seed=3) != design_code(47, 20, 5, seed=4)


@pytest.mark.parametrize("distance", [2, 4, 6, 8])
def test_a_distance_asked_for_is_met_exactly(distance):
    assert design_code(12, 16, 6, min_distance=distance).min_distance == distance


def test_disjoint_words_are_not_forced_when_less_distance_is_asked():
    assert design_code(3, 12, 3).min_distance == 6
    assert design_code(3, 12, 3, min_distance=4).min_distance == 4


def test_spare_words_are_even_with_and_without_the_others():
    code = design_code(100, 20, 4, spare=20)
    everything = Code(np.concatenate([code.words, code.spare]))
    assert (code.num_classes, len(code.spare)) == (100, 20)
    assert (code.spread, everything.spread) == (0, 0)
    assert everything.min_distance == code.min_distance == 4


IMPOSSIBLE = [
    ((300, 10, 5), {}, "only 252 exist (binomial bound). Use at least 11 branches, 5 of them active (462 words)."),
    ((121, 10, 3), {}, "only 120 exist (binomial bound). Ask for 4 active branches (210 words), or use more branches."),
    ((2, 4, 4), {}, "only 1 exist (binomial bound). Ask for 3 active branches (4 words), or use more branches."),
    ((10, 4, 5), {}, "active must be at most the number of branches, 4, got 5"),
    ((100, 10, 3), {"min_distance": 6}, "at most 3 exist (Johnson bound). Ask for distance 2 at most"),
    ((10, 10, 3), {"min_distance": 8}, "at most 1 exist (Johnson bound). Ask for distance 4 at most"),
    ((5, 10, 3), {"min_distance": 3}, "even distances (the bound here is 4), got 3: ask for 4."),
    ((1, 10, 3), {"min_distance": 4}, "one word alone counts as distance 6"),
    ((100, 10, 3), {"spare": 21}, "no code has 121 words"),
    ((0, 4, 2), {}, "classes must be a whole number of at least 1, got 0"),
    ((4, -4, 2), {}, "branches must be a whole number of at least 1, got -4"),
    ((4, 4, 0), {}, "active must be a whole number of at least 1, got 0"),
    ((4, 4, 2), {"spare": -1}, "spare must be a whole number of at least 0, got -1"),
    ((4, 4, 2), {"seed": -1}, "seed must be a whole number of at least 0, got -1"),
    ((4, 4, 2), {"min_distance": 0}, "min_distance must be a whole number of at least 1, got 0"),
    ((4.0, 4, 2), {}, "classes must be a whole number of at least 1, got 4.0"),
    ((4, 4, 2), {"seconds": 0}, "seconds must be more than 0, got 0"),
]


@pytest.mark.parametrize(("size", "more", "message"), IMPOSSIBLE, ids=str)
def test_impossible_asks_are_refused_by_a_sentence_with_the_bound(size, more, message):
    with pytest.raises(CodednetError) as caught:
        design_code(*size, **more)
    assert message in str(caught.value)


ADVICE = [(11, 5, 300), (10, 4, 121), (4, 3, 2)]


@pytest.mark.parametrize(("branches", "active", "classes"), ADVICE)
def test_the_advice_of_refusals_has_been_tried(branches, active, classes):
    assert comb(branches, active) >= classes
    assert design_code(classes, branches, active).num_classes == classes


def test_a_distance_that_the_bound_leaves_open_but_nobody_reaches_is_refused_with_what_is_reached():
    with pytest.raises(ImpossibleCodeError, match=r"the Johnson bound leaves distance 10 open\. Ask for distance \d+"):
        design_code(365, 32, 8, min_distance=10, seconds=2)
