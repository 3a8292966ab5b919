import numpy as np
import pytest

from codednet.codes.fields import field, prime_power
from codednet.codes.groups import groups


@pytest.mark.parametrize("q", [2, 3, 4, 5, 7, 8, 9, 16, 25, 27, 32, 49, 64, 81])
def test_fields_obey_the_axioms(q):
    f = field(q)
    nonzero = np.arange(1, q)
    assert sorted(f.powers) == nonzero.tolist()
    assert (np.sort(f.add, axis=1) == np.arange(q)).all()
    assert (np.sort(f.mul[1:, 1:], axis=1) == nonzero).all()
    assert (f.mul[0] == 0).all()
    assert (f.mul[1] == np.arange(q)).all()
    rng = np.random.default_rng(0)
    a, b, c = rng.integers(q, size=(3, 200))
    assert (f.mul[a, f.add[b, c]] == f.add[f.mul[a, b], f.mul[a, c]]).all()
    assert (f.mul[a, f.mul[b, c]] == f.mul[f.mul[a, b], c]).all()


def test_prime_powers_are_told_from_other_numbers():
    assert {q for q in range(2, 33) if prime_power(q)} == {
        *(2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32)
    }


@pytest.mark.parametrize("branches", [8, 10, 12, 20, 24, 31, 32])
def test_groups_are_closed_and_their_free_subgroups_move_every_branch(branches):
    rng = np.random.default_rng(0)
    for group in groups(branches):
        elements = set(map(tuple, group.elements.tolist()))
        assert len(elements) == group.order
        assert (np.sort(group.elements, axis=1) == np.arange(branches)).all()
        for _ in range(20):
            a, b = group.elements[rng.integers(group.order, size=2)]
            assert tuple(a[b].tolist()) in elements
        assert group.transitive == (len(np.unique(group.elements[:, 0])) == branches)
        for subgroup in group.free:
            assert set(map(tuple, subgroup.tolist())) <= elements
            moved = (subgroup != np.arange(branches)).all(axis=1)
            assert moved.sum() == len(subgroup) - 1
