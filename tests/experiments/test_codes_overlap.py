"""Words by all their pairs, and what classes share by counting the networks that are cut out for them."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist

import codednet


def count(*modules: torch.nn.Module) -> int:
    return sum(tensor.numel() for module in modules for tensor in module.parameters())


def test_facts_of_a_code_are_those_of_all_pairs_of_its_words(record, subject):
    model, found = subject.model, record("codes")
    assert [one.blocks for one in found.codes] == [("layer2.0", "layer2.1"), ("layer3.0", "layer3.1")]
    total = np.zeros(45)
    for row in found.codes:
        words = model.codes[model.coded_blocks.index(row.blocks[0])].words
        distances = np.rint(pdist(words, "hamming") * 10).astype(int)
        total += distances
        assert (row.classes, row.branches, row.active) == (10, 10, int(words[0].sum()))
        assert row.distances == dict(Counter(distances.tolist()))
        assert (row.min_distance, row.pairs_at_min) == (distances.min(), (distances == distances.min()).sum())
        assert row.min_distance <= row.distance_bound <= 2 * row.active
        assert row.loads == tuple(words.sum(0).tolist())
        assert row.spread == max(row.loads) - min(row.loads)
        assert [one.label for one in row.words] == list(subject.names())
        assert [[int(digit) for digit in one.word] for one in row.words] == words.tolist()
    assert (found.joint_distance, found.joint_pairs) == (total.min(), (total == total.min()).sum())
    closest = [
        pair for pair, distance in zip(combinations(subject.names(), 2), total, strict=True) if distance == total.min()
    ]
    assert [(one.first, one.second) for one in found.closest] == closest[:20]
    assert {one.distance for one in found.closest} == {found.joint_distance}


def test_two_classes_share_the_branches_that_both_words_name(record, subject):
    model, found = subject.model, record("overlap")
    paths = [
        {(b, n) for b, code in enumerate(model.codes) for n in np.flatnonzero(code.words[label])} for label in range(10)
    ]
    assert [list(row) for row in found.branches] == [[len(one & two) for two in paths] for one in paths]
    assert found.path_branches == len(paths[0]) == 5 + 5 + 3 + 3
    for row, code in zip(found.blocks, model.codes, strict=True):
        shares = [int((code.words[i] & code.words[j]).sum()) / code.active for i, j in combinations(range(10), 2)]
        assert (row.mean, row.smallest, row.largest) == pytest.approx((np.mean(shares), min(shares), max(shares)))


def test_two_classes_share_the_parameters_that_the_network_of_both_holds_once(record, subject):
    model, found, names = subject.model, record("overlap"), subject.names()
    parts = [codednet.extract(model, [label]) for label in range(10)]
    blocks = [block for _, block in model.named_blocks() if block.is_coded]
    anybodys = count(model.conv1, model.bn1, model.layer1, *(block.bn3 for block in blocks))
    anybodys += count(*(block.downsample for block in blocks if block.downsample is not None))
    assert found.common_parameters == anybodys + count(model.fc)
    own = [count(part) - count(part.fc) - anybodys for part in parts]
    assert set(own) == {found.path_parameters}
    shares = {}
    for i, j in combinations(range(10), 2):
        both = codednet.extract(model, [i, j])
        shares[i, j] = (own[i] + own[j] - (count(both) - count(both.fc) - anybodys)) / own[i]
        assert found.parameters[i][j] == found.parameters[j][i] == pytest.approx(shares[i, j], abs=1e-12)
    assert found.mean_share == pytest.approx(np.mean(list(shares.values())), abs=1e-12)
    for one, extreme in ((found.most, max), (found.least, min)):
        assert one.share == pytest.approx(extreme(shares.values()), abs=1e-12)
        assert one.share == pytest.approx(shares[names.index(one.first), names.index(one.second)], abs=1e-12)
