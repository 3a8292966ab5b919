"""The pieces of the search, each against its plain definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codednet.codes import bits
from codednet.codes.balance import choose_even
from codednet.codes.budget import Budget
from codednet.codes.greedy import all_words, any_words, arcs, balanced_greedy
from codednet.codes.groups import groups
from codednet.codes.independent import heavy_independent_set
from codednet.codes.mend import mend
from codednet.codes.orbits import find_orbits
from codednet.codes.repel import Repelling, scattered_words
from codednet.testing import code_sizes

LONG = Budget(600)


def plain_distances(words):
    return (words[:, None] != words[None]).sum(axis=2)


@given(st.integers(1, 200), st.integers(0, 2**32 - 1))
def test_packing_round_trip_and_distances(length, seed):
    words = np.random.default_rng(seed).integers(0, 2, size=(6, length)).astype(np.uint8)
    packed = bits.pack(words)
    assert (bits.unpack(packed, length) == words).all()
    assert (bits.distance(packed[:, None], packed[None]) == plain_distances(words)).all()
    assert (bits.overlap(packed[:, None], packed[None]) == words.astype(int) @ words.T.astype(int)).all()


def test_orbits_keep_the_distance_inside_and_clashes_are_right():
    rng = np.random.default_rng(0)
    group = next(g for g in groups(16) if g.order == 16 and g.transitive)
    orbits = find_orbits(group, 6, 3, 12, 1e7, rng, LONG)
    assert len(orbits.sizes) > 2
    for i, size in enumerate(orbits.sizes):
        words = bits.unpack(orbits.words(np.array([i])), 16)
        assert len(words) == size
        apart = plain_distances(words)
        assert apart[~np.eye(len(words), dtype=bool)].min(initial=99) >= 6
    clash = orbits.clashes(3, LONG)
    for i in range(len(orbits.sizes)):
        for j in range(i):
            a, b = (bits.unpack(orbits.words(np.array([k])), 16).astype(int) for k in (i, j))
            assert clash[i, j] == clash[j, i] == ((a @ b.T).max() > 3)


def test_independent_sets_have_no_edge_and_reach_the_known_size():
    # The 5-cycle blown up: vertices 3 i .. 3 i + 2 share neighbours, so the heaviest set holds two groups of three.
    ring = np.zeros((5, 5), dtype=bool)
    for i in range(5):
        ring[i, (i + 1) % 5] = ring[(i + 1) % 5, i] = True
    clash = np.kron(ring, np.ones((3, 3), dtype=bool))
    sizes = np.arange(1, 16)
    best = max(
        sizes[3 * i : 3 * i + 3].sum() + sizes[3 * j : 3 * j + 3].sum()
        for i in range(5)
        for j in range(i)
        if not ring[i, j]
    )
    chosen = heavy_independent_set(clash, sizes, 10**6, 300, np.random.default_rng(0), LONG)
    assert not clash[np.ix_(chosen, chosen)].any()
    assert sizes[chosen].sum() == best


@pytest.mark.parametrize("count", [8, 20, 33, 40])
def test_choosing_from_a_pool_is_even_where_it_can_be(count):
    words = all_words(8, 4)
    group = groups(8)[0]
    rows = choose_even(bits.pack(words), 8, count, group.free, np.random.default_rng(0), LONG)
    assert len(set(rows.tolist())) == count
    assert np.ptp(words[rows].sum(axis=0, dtype=int)) == (0 if count * 4 % 8 == 0 else 1)


@given(code_sizes(max_branches=12, max_classes=400))
def test_any_words_are_distinct_and_as_even_as_can_be(size):
    classes, branches, active = size
    if active == branches:
        return
    words = any_words(classes, branches, active, np.random.default_rng(0))
    assert words.shape == (classes, branches)
    assert len(np.unique(words, axis=0)) == classes
    assert (words.sum(axis=1) == active).all()
    assert np.ptp(words.sum(axis=0, dtype=int)) == (0 if classes * active % branches == 0 else 1)


@given(st.integers(2, 12), st.data())
def test_arcs_are_even_at_any_length(branches, data):
    active = data.draw(st.integers(1, branches - 1))
    words = arcs(branches, branches, active)
    assert len(np.unique(words, axis=0)) == branches
    for count in range(1, branches + 1):
        assert np.ptp(words[:count].sum(axis=0, dtype=int)) <= 1


@given(code_sizes(max_branches=20, max_classes=60), st.integers(0, 2**32 - 1))
def test_scattered_words_are_even(size, seed):
    classes, branches, active = size
    words = scattered_words(classes, branches, active, np.random.default_rng(seed))
    assert (words.sum(axis=1) == active).all()
    assert np.ptp(words.sum(axis=0, dtype=int)) <= 1


def test_repelling_words_parts_them_and_keeps_their_loads():
    rng = np.random.default_rng(0)
    start = scattered_words(60, 40, 8, rng)
    state = Repelling(start, 3, rng)
    plain = start.astype(int) @ start.T.astype(int) > 3
    np.fill_diagonal(plain, False)
    assert state.close.tolist() == plain.sum(axis=1).tolist()
    assert state.part(4000, LONG)
    assert plain_distances(state.words)[~np.eye(60, dtype=bool)].min() >= 10
    assert (state.words.sum(axis=0, dtype=int) == start.sum(axis=0, dtype=int)).all()


def test_moving_ones_evens_loads():
    rng = np.random.default_rng(0)
    words = all_words(10, 4)[:40]
    state = Repelling(words, 3, rng)
    state.even(0)
    assert np.ptp(state.words.sum(axis=0, dtype=int)) == 0
    common = state.words.astype(int) @ state.words.T.astype(int) > 3
    np.fill_diagonal(common, False)
    assert state.close.tolist() == common.sum(axis=1).tolist()


def test_mending_keeps_the_distance_and_parts_close_pairs():
    rng = np.random.default_rng(0)
    space = bits.pack(all_words(12, 5))
    rows = balanced_greedy(space, 20, 3, rng, LONG)

    def worth(chosen):
        words = bits.unpack(space[chosen], 12)
        apart = plain_distances(words)[np.triu_indices(20, 1)]
        loads = words.sum(axis=0, dtype=int)
        return int(apart.min()), float(((loads - loads.mean()) ** 2).sum()), int((apart == 4).sum())

    mended = mend(space, 12, rows, 3, 60, rng, LONG)
    before, after = worth(rows), worth(mended)
    assert len(set(mended.tolist())) == 20
    assert after[0] >= 4
    assert after[1:] < before[1:]
