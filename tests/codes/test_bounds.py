from itertools import combinations
from math import comb

import pytest

from codednet.codes import delsarte_bound, distance_bound, johnson_bound

# A(n, d, w) that are known exactly, from the literature's tables of constant-weight codes.
EXACT = [
    (6, 4, 3, 4),
    (7, 4, 3, 7),
    (8, 4, 4, 14),
    (9, 4, 3, 12),
    (10, 4, 3, 13),
    (10, 6, 5, 6),
    (11, 6, 5, 11),
    (12, 6, 6, 22),
    (13, 6, 4, 13),
    (16, 6, 4, 20),
    (16, 8, 6, 16),
    (23, 8, 7, 253),
    (24, 8, 8, 759),
    (24, 8, 12, 2576),
]


@pytest.mark.parametrize(("branches", "distance", "active", "most"), EXACT)
def test_bounds_are_no_smaller_than_what_exists(branches, distance, active, most):
    assert johnson_bound(branches, distance, active) >= most
    assert delsarte_bound(branches, distance, active) >= most - 1e-6


@pytest.mark.parametrize("size", [(7, 4, 3, 7), (9, 4, 3, 12), (13, 6, 4, 13), (16, 6, 4, 20), (24, 8, 8, 759)])
def test_johnson_bound_is_tight_where_designs_exist(size):
    *numbers, most = size
    assert johnson_bound(*numbers) == most


def largest_code(words, distance):
    """Size of the largest code, by branching on every word: the slow and plain way."""
    if not words:
        return 0
    first, rest = words[0], words[1:]
    with_first = 1 + largest_code([w for w in rest if 2 * len(first - w) >= distance], distance)
    return with_first if with_first == 1 + len(rest) else max(with_first, largest_code(rest, distance))


@pytest.mark.parametrize("branches", [4, 5, 6])
def test_bounds_admit_the_largest_code_found_by_exhaustion(branches):
    for active in range(1, branches):
        words = [frozenset(c) for c in combinations(range(branches), active)]
        for distance in range(4, 2 * min(active, branches - active) + 1, 2):
            assert largest_code(words, distance) <= johnson_bound(branches, distance, active)


def test_bounds_are_exact_integers_of_any_size():
    assert johnson_bound(200, 2, 100) == comb(200, 100)
    assert distance_bound(1, 10, 3) == 6
    assert distance_bound(comb(64, 32), 64, 32) == 2


@pytest.mark.parametrize(
    ("size", "bound"),
    [
        ((100, 20, 8), 8),
        ((1000, 32, 16), 12),
        ((1000, 32, 8), 8),
        ((1000, 64, 16), 22),
        ((10_000, 64, 16), 18),
        ((1000, 32, 24), 8),
    ],
)
def test_distance_bounds_of_network_sizes(size, bound):
    assert distance_bound(*size) == bound


def test_delsarte_bound_is_tighter_for_one_size_of_interest():
    assert delsarte_bound(64, 22, 16) < 1000 <= johnson_bound(64, 22, 16)
