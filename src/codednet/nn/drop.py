"""DropBranch: dropout whose units are branches."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from codednet.errors import CodednetError


class DropBranch(nn.Module):
    """Draws which branches of which image are dropped, each with probability `p`, in training alone.

    One mask serves all coded blocks that share a code. A row may lose all its branches.
    """

    def __init__(self, p: float = 0.1) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise CodednetError(f"drop_branch must be a probability of at least 0 and below 1, got {p}.")
        self.p = p

    def mask(
        self,
        batch: int,
        num_branches: int,
        device: torch.device | str | None = None,
        dtype: torch.dtype = torch.float32,
        generator: torch.Generator | None = None,
    ) -> Float[Tensor, "batch branches"] | None:
        """0 for a dropped branch and 1 / (1 - p) for the others; None where nothing is dropped."""
        if not self.training or self.p == 0:
            return None
        kept = torch.empty(batch, num_branches, device=device, dtype=dtype).bernoulli_(1 - self.p, generator=generator)
        return kept / (1 - self.p)

    def extra_repr(self) -> str:
        """The probability."""
        return f"p={self.p}"
