"""What holds for every code, whatever its size."""

from math import comb

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from codednet.codes import Code, design_code, distance_bound, johnson_bound
from codednet.testing import code_sizes, codes, designed_codes, word_tables


def distances(words):
    """All pairwise Hamming distances, the slow and plain way."""
    return [int((a != b).sum()) for i, a in enumerate(words) for b in words[i + 1 :]]


@given(designed_codes())
def test_designed_words_have_one_weight(code):
    assert (code.words.sum(axis=1) == code.active).all()


@given(codes())
def test_distances_equal_the_slow_and_plain_count(code):
    found = distances(code.words)
    if not found:
        assert (code.min_distance, code.pairs_at_min) == (2 * code.active, 0)
        return
    assert code.min_distance == min(found)
    assert code.pairs_at_min == found.count(min(found))
    assert code.distance_counts == {d: found.count(d) for d in sorted(set(found))}


@given(codes())
def test_distances_are_even_and_at_most_twice_the_smaller_half(code):
    assert all(d % 2 == 0 and d <= 2 * min(code.active, code.num_branches - code.active) for d in distances(code.words))


@given(codes())
def test_loads_sum_to_the_ones(code):
    assert code.loads.sum() == code.num_classes * code.active


@given(word_tables(max_branches=9, max_classes=30))
def test_johnson_bound_admits_every_code_that_exists(words):
    code = Code(words)
    if code.num_classes > 1:
        assert johnson_bound(code.num_branches, code.min_distance, code.active) >= code.num_classes
    assert code.distance_bound >= code.min_distance


@given(designed_codes())
def test_designed_loads_are_even_and_distance_within_the_bound(code):
    assert code.min_distance <= code.distance_bound
    if code.min_distance == 2:  # then any words will do, and even ones always exist
        assert code.spread == (0 if code.num_classes * code.active % code.num_branches == 0 else 1)


@given(codes(), st.randoms(use_true_random=False))
def test_permuting_branches_or_classes_changes_nothing_that_matters(code, random):
    rows, columns = list(range(code.num_classes)), list(range(code.num_branches))
    random.shuffle(rows)
    random.shuffle(columns)
    other = Code(code.words[rows][:, columns])
    for fact in ("active", "min_distance", "pairs_at_min", "distance_bound", "is_optimal", "spread", "distance_counts"):
        assert getattr(other, fact) == getattr(code, fact)
    assert sorted(other.loads) == sorted(code.loads)


@given(code_sizes(max_branches=12, max_classes=24), st.integers(0, 5))
def test_same_seed_gives_the_same_code(size, seed):
    assert design_code(*size, seed=seed) == design_code(*size, seed=seed)


@given(codes())
def test_text_round_trip(tmp_path_factory, code):
    path = tmp_path_factory.mktemp("codes") / "code.txt"
    code.save(path)
    assert Code.load(path) == code


@given(codes(), st.integers(0, 2**32 - 1), st.floats(0.0, 0.999))
def test_words_decode_to_themselves_under_any_error_shorter_than_half_the_distance(code, seed, length):
    error = np.random.default_rng(seed).normal(size=code.words.shape)
    error *= length * np.sqrt(code.min_distance) / 2 / np.linalg.norm(error, axis=1, keepdims=True)
    assert (code.nearest(code.words + error) == np.arange(code.num_classes)).all()


@given(codes())
def test_complement_has_the_same_distances(code):
    if code.active < code.num_branches:
        complement = Code(1 - code.words)
        assert complement.distance_counts == code.distance_counts
        assert complement.spread == code.spread


@given(code_sizes(max_branches=10, max_classes=20), st.integers(1, 3))
def test_spare_words_keep_distance_and_evenness(size, spare):
    classes, branches, active = size
    if classes + spare > comb(branches, active):
        return
    code = design_code(classes, branches, active, spare=spare)
    everything = Code(np.concatenate([code.words, code.spare]))
    assert len(code.spare) == spare
    assert everything.min_distance <= code.min_distance
    assert code.spread <= 2
    assert everything.spread <= 2


@given(code_sizes(max_branches=10, max_classes=16), st.data())
def test_asking_for_a_distance_gives_exactly_it(size, data):
    if size[0] == 1:
        return
    reached = design_code(*size).min_distance
    asked = data.draw(st.integers(1, reached // 2)) * 2
    assert design_code(*size, min_distance=asked).min_distance == asked
    assert reached <= distance_bound(*size)
