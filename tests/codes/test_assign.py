import itertools

import numpy as np
import pytest

from codednet.codes import Code, design_code, order_by_similarity, order_jointly
from codednet.errors import CodednetError


def summed(codes):
    table = sum((c.words[:, None] != c.words[None]).sum(axis=2) for c in codes)
    return table[np.triu_indices(len(table), 1)]


def objective(code, similarity):
    words = code.words.astype(int)
    return sum(similarity[i, j] * (words[i] & words[j]).sum() for i, j in itertools.combinations(range(len(words)), 2))


def symmetric(classes, seed=0):
    table = np.random.default_rng(seed).random((classes, classes))
    return (table + table.T) / 2


@pytest.mark.parametrize("size", [(10, 10), (40, 20)])
def test_joint_order_parts_the_worst_pairs_and_keeps_the_words(size):
    classes, branches = size
    codes = [design_code(classes, branches, branches // 2), design_code(classes, branches, 4)]
    found = order_jointly(codes)
    before, after = summed(codes), summed(found.codes)
    assert tuple(found.before) == (before.min(), (before == before.min()).sum())
    assert tuple(found.after) == (after.min(), (after == after.min()).sum())
    assert (after.min(), -found.after.pairs) > (before.min(), -found.before.pairs)
    for old, new in zip(codes, found.codes, strict=True):
        assert {w.tobytes() for w in old.words} == {w.tobytes() for w in new.words}
    assert found.codes[0] == codes[0]


def test_joint_order_finds_the_best_of_all_orders_when_few():
    codes = [design_code(5, 8, 3), design_code(5, 6, 2)]
    best = max(summed([codes[0], codes[1].reordered(order)]).min() for order in itertools.permutations(range(5)))
    assert order_jointly(codes).after.distance == best


@pytest.mark.parametrize("near", [True, False])
def test_similarity_order_states_and_improves_its_objective(near):
    code, similarity = design_code(30, 12, 4), symmetric(30)
    found = order_by_similarity(code, similarity, near=near)
    assert found.before == pytest.approx(objective(code, similarity))
    assert found.after == pytest.approx(objective(found.code, similarity))
    assert found.code == code.reordered(found.order)
    assert found.after > found.before if near else found.after < found.before


@pytest.mark.parametrize("near", [True, False])
def test_similarity_order_comes_close_to_the_best_of_all_orders(near):
    code, similarity = design_code(6, 6, 3), symmetric(6, seed=1)
    values = [objective(code.reordered(order), similarity) for order in itertools.permutations(range(6))]
    best, worst = (max(values), min(values)) if near else (min(values), max(values))
    found = order_by_similarity(code, similarity, near=near).after
    assert abs(best - found) <= 0.05 * abs(best - worst)


def test_wrong_input_is_refused():
    code = design_code(5, 8, 3)
    with pytest.raises(CodednetError, match="at least one code"):
        order_jointly([])
    with pytest.raises(CodednetError, match="as many words as each other, got 5, 6"):
        order_jointly([code, design_code(6, 8, 3)])
    with pytest.raises(CodednetError, match=r"a table \(5, 5\), a row a class, got \(4, 4\)"):
        order_by_similarity(code, np.eye(4))
    with pytest.raises(CodednetError, match="NaN"):
        order_by_similarity(code, np.full((5, 5), np.nan))


def test_one_class_alone_is_ordered_at_once():
    one = Code([[1, 0]])
    assert order_jointly([one, one]).codes == (one, one)
    assert order_by_similarity(one, [[1.0]]).order.tolist() == [0]
