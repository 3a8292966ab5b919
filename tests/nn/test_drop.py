"""DropBranch drops each branch of each image with probability p, and scales the others."""

import pytest
import torch

from codednet.errors import CodednetError
from codednet.nn import DropBranch


def test_masks_hold_zero_and_the_inverse_of_the_keeping_probability() -> None:
    mask = DropBranch(0.2).mask(20_000, 10, generator=torch.Generator().manual_seed(0))
    assert mask is not None
    assert mask.unique().tolist() == pytest.approx([0, 1.25])
    # 200,000 draws: a standard deviation is 0.0009.
    assert (mask == 0).float().mean().item() == pytest.approx(0.2, abs=0.004)
    assert mask.mean(0).sub(1).abs().max() < 0.02


def test_a_row_may_lose_every_branch() -> None:
    mask = DropBranch(0.9).mask(1000, 2, generator=torch.Generator().manual_seed(0))
    assert mask is not None
    assert (mask.sum(1) == 0).any()


def test_nothing_is_dropped_in_evaluation_or_at_probability_zero() -> None:
    assert DropBranch(0.2).eval().mask(3, 4) is None
    assert DropBranch(0.0).mask(3, 4) is None


def test_one_seed_gives_one_mask() -> None:
    masks = [DropBranch(0.5).mask(8, 4, generator=torch.Generator().manual_seed(7)) for _ in range(2)]
    assert torch.equal(*masks)


@pytest.mark.parametrize("p", [-0.1, 1.0, 2.0])
def test_impossible_probabilities_are_refused(p: float) -> None:
    with pytest.raises(CodednetError, match=f"at least 0 and below 1, got {p}"):
        DropBranch(p)
