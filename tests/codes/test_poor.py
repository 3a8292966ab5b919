"""Poor codes are valid codes that break both rules wherever they can be broken."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codednet.codes.poor import poor_code
from codednet.errors import ImpossibleCodeError


@st.composite
def sizes(draw):
    branches = draw(st.integers(2, 24))
    active = draw(st.integers(1, branches - 1))
    return draw(st.integers(2, min(comb(branches, active), 60))), branches, active


@given(sizes(), st.integers(0, 99))
def test_words_are_distinct_of_one_weight_and_two_lie_at_distance_2(size, seed):
    classes, branches, active = size
    words = poor_code(classes, branches, active, seed).words
    assert words.shape == (classes, branches)
    assert len({word.tobytes() for word in words}) == classes
    assert (words.sum(1) == active).all()
    distances = [int((a != b).sum()) for i, a in enumerate(words) for b in words[:i]]
    assert min(distances) == 2


@pytest.mark.parametrize("size", [(10, 10, 5), (10, 10, 3), (100, 20, 8), (100, 20, 4), (1000, 32, 8)])
def test_branches_of_the_paper_s_sizes_are_used_unevenly(size):
    classes, branches, active = size
    for seed in range(3):
        assert poor_code(*size, seed).spread >= classes * active / branches


def test_seeds_give_other_codes_and_the_same_seed_the_same():
    assert poor_code(10, 10, 3, 1) == poor_code(10, 10, 3, 1)
    codes = {poor_code(10, 10, 3, seed) for seed in range(5)}
    assert len(codes) == 5
    assert len({int(np.argmax(code.loads)) for code in codes}) > 1


def test_more_words_than_there_are_is_refused():
    with pytest.raises(ImpossibleCodeError, match="only 120 exist"):
        poor_code(121, 10, 3)
    assert len(poor_code(120, 10, 3)) == 120
