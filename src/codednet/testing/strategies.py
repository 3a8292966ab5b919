"""Strategies: sizes that exist, tables of valid words, codes, designed codes."""

from itertools import combinations
from math import comb

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from codednet.codes import Code, design_code

_ENUMERABLE = 3000


@st.composite
def code_sizes(draw: st.DrawFn, max_branches: int = 16, max_classes: int = 40) -> tuple[int, int, int]:
    """(classes, branches, active) for which that many distinct words exist."""
    branches = draw(st.integers(1, max_branches))
    active = draw(st.integers(1, branches))
    classes = draw(st.integers(1, min(max_classes, comb(branches, active))))
    return classes, branches, active


@st.composite
def word_tables(draw: st.DrawFn, max_branches: int = 16, max_classes: int = 40) -> NDArray[np.uint8]:
    """Tables (classes, branches) of distinct words of one weight, with no other virtue."""
    classes, branches, active = draw(code_sizes(max_branches, max_classes))
    words = np.zeros((classes, branches), dtype=np.uint8)
    if comb(branches, active) <= _ENUMERABLE:
        places = st.sampled_from(list(combinations(range(branches), active)))
    else:
        places = st.permutations(range(branches)).map(lambda order: tuple(sorted(order[:active])))
    supports = draw(st.lists(places, min_size=classes, max_size=classes, unique=True))
    for word, support in zip(words, supports, strict=True):
        word[list(support)] = 1
    return words


@st.composite
def codes(draw: st.DrawFn, max_branches: int = 16, max_classes: int = 40, max_spare: int = 3) -> Code:
    """Valid codes, some with spare words."""
    words = draw(word_tables(max_branches, max_classes))
    spare = draw(st.integers(0, min(max_spare, len(words) - 1)))
    return Code(words[: len(words) - spare], words[len(words) - spare :])


@st.composite
def designed_codes(draw: st.DrawFn, max_branches: int = 12, max_classes: int = 24) -> Code:
    """Codes that `design_code` made, of sizes that it finishes in well under a second."""
    classes, branches, active = draw(code_sizes(max_branches, max_classes))
    return design_code(classes, branches, active, seed=draw(st.integers(0, 3)))
