"""Decoding gives the nearest word in L2, ties to the lowest label."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from codednet.codes import Code
from codednet.errors import CodednetError
from codednet.nn import decode, nearest_codeword

CODE = Code([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]])


@given(st.lists(st.lists(st.integers(0, 8), min_size=4, max_size=4), min_size=1, max_size=6))
def test_the_label_is_that_of_the_nearest_word(rows: list[list[int]]) -> None:
    # Quarters are exact in floating point, so ties are ties.
    energies = torch.tensor(rows) / 4
    words = torch.tensor(CODE.words).float()
    distances = (CODE.rate * energies[:, None] - words).square().sum(2)
    labels = nearest_codeword(energies, words)
    for row, label in zip(distances, labels.tolist(), strict=True):
        assert label == row.tolist().index(min(row.tolist()))
    assert labels.tolist() == CODE.nearest(energies.numpy()).tolist()


def test_blocks_are_decoded_each_by_its_code() -> None:
    other = torch.eye(4)[:, [1, 2, 3, 0]]
    energies = [torch.tensor(CODE.words[[2, 0]]).float() * 2, torch.tensor([[0.0, 0, 4, 0], [4, 0, 0, 0]])]
    assert decode(energies, [CODE, other]).tolist() == [[2, 0], [3, 1]]


def test_autocast_does_not_round_energies() -> None:
    energies = torch.tensor([[1.0, 1.001, 1.0, 1.001]])
    with torch.autocast("cpu", torch.bfloat16):
        assert decode([energies], [CODE]).tolist() == [[3]]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(CodednetError, match=r"have 3 columns, the words are \(4, 4\)"):
        decode([torch.rand(2, 3)], [CODE])
    with pytest.raises(CodednetError, match="no early decoders"):
        decode([], [])
