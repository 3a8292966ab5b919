"""CodedProjection: the one coded layer that everything else is made of."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from codednet.errors import CodednetError
from codednet.nn.cache import WeightCache
from codednet.nn.checks import checks_values
from codednet.nn.energy import EPS, branch_energies, branch_grams, sum_dtype
from codednet.nn.factors import BranchFactors
from codednet.nn.fused import FusedProjection, Rule, energise, masked, over_channels, weigh


class Reading(NamedTuple):
    """What a coded block says before its last convolution."""

    energies: Float[Tensor, "batch branches"]
    scale: Float[Tensor, "batch kept"]


class Projected(NamedTuple):
    """What a coded projection returns: the sum of its branches, and the energy of each."""

    output: Float[Tensor, "batch out height width"]
    energies: Float[Tensor, "batch branches"]


class CodedProjection(nn.Conv2d):
    """Last 1x1 convolution of a coded block, which normalises the energies of the branches that it sums.

    The hidden tensor holds the channels of one branch after those of another. A row of energies sums to
    `num_branches`, the number of branches that the block was designed with; `kept` names those that exist (all of
    them by default), and the others have energy 0. With `normalise=False` energies and branches stay as they are.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        num_branches: int,
        *,
        kept: Sequence[int] | None = None,
        normalise: bool = True,
        eps: float = EPS,
    ) -> None:
        branches = range(num_branches) if kept is None else kept
        if len(branches) == 0 or sorted(set(branches) & set(range(num_branches))) != list(branches):
            raise CodednetError(
                f"kept must name branches of 0..{num_branches - 1} in rising order, at least one; got {list(branches)}."
            )
        if in_channels < 1 or in_channels % len(branches):
            raise CodednetError(
                f"in_channels must be a multiple of the {len(branches)} branches that share them, got {in_channels}."
            )
        super().__init__(in_channels, out_channels, kernel_size=1, bias=False)
        self.num_branches = num_branches
        self.normalise = normalise
        self.eps = eps
        self.kept = tuple(branches)
        self.width = in_channels // len(branches)
        some = torch.tensor(self.kept) if len(branches) < num_branches else None
        self.register_buffer("kept_index", some, persistent=False)
        self.kept_index: Tensor | None
        self._factors: WeightCache[BranchFactors] = WeightCache()

    def read(
        self, u: Float[Tensor, "batch channels height width"], keep: Shaped[Tensor, "*rows branches"] | None = None
    ) -> Reading:
        """Energies of the branches, and the factor that each is to have in the sum.

        `keep` holds 1 and 0 of shape (branches,) or (batch, branches); 0 removes a branch before the normalisation.
        """
        self._check(u)
        rows = self._rows(keep, u, "keep")
        energies, inverse_root = energise(self._raw_energies(u, self._remembered()), rows, self._rule)
        return Reading(self._spread(energies), masked(inverse_root, rows).expand(-1, len(self.kept)))

    def project(
        self,
        u: Float[Tensor, "batch channels height width"],
        scale: Float[Tensor, "batch kept"],
        drop: Float[Tensor, "batch branches"] | None = None,
    ) -> Float[Tensor, "batch out height width"]:
        """Sum of the branches, each times its factor; `drop` is a mask of DropBranch."""
        self._check(u)
        scale = masked(scale, self._rows(drop, u, "drop"))
        factors = self._remembered()
        if factors is None:
            return F.conv2d(u * over_channels(scale, self.width, u.dtype), self.weight)
        hidden = _as_convolved(u)
        return factors.convolve(hidden * over_channels(scale, self.width, hidden.dtype))

    def total(
        self,
        u: Float[Tensor, "batch channels height width"],
        drop: Float[Tensor, "batch branches"] | None = None,
        *,
        reuse: bool = False,
    ) -> Float[Tensor, "batch out height width"]:
        """Sum of the branches alone, which costs less than `forward`; `reuse` lets it overwrite `u`."""
        hidden = _as_convolved(u)
        factors = self._remembered() if drop is None and self.normalise else None
        if factors is None or hidden.dtype == torch.float16:  # squares leave the range of float16
            projected: Projected = self(u, drop=drop)
            return projected.output
        self._check(u)
        return factors.convolve(factors.normalised(hidden, self.num_branches, self.eps, reuse=reuse))

    def forward(  # type: ignore[override]
        self,
        u: Float[Tensor, "batch channels height width"],
        keep: Shaped[Tensor, "*rows branches"] | None = None,
        drop: Float[Tensor, "batch branches"] | None = None,
    ) -> Projected:
        """Sum of the branches and their energies: `read`, then `project`."""
        if torch.compiler.is_compiling():
            # A compiler derives and merges the backward itself.
            reading = self.read(u, keep)
            return Projected(self.project(u, reading.scale, drop), reading.energies)
        self._check(u)
        keeps, drops = self._rows(keep, u, "keep"), self._rows(drop, u, "drop")
        hidden = _as_convolved(u)
        if torch.is_grad_enabled():
            weight = _as_convolved(self.weight)
            grams = branch_grams(weight.detach(), len(self.kept))
            output, energies = FusedProjection.apply(hidden, weight, grams, keeps, drops, self._rule)
        else:
            factors = self._remembered()
            energies, inverse_root = energise(self._raw_energies(hidden, factors), keeps, self._rule)
            scale = over_channels(masked(inverse_root, keeps, drops), self.width, hidden.dtype)
            if factors is None:
                output = weigh(hidden, _as_convolved(self.weight), scale)
            else:
                output = factors.convolve(hidden * scale)
        return Projected(output, self._spread(energies))

    def extra_repr(self) -> str:
        """Sizes, and the branches that exist."""
        base: str = super().extra_repr()  # type: ignore[no-untyped-call]
        return f"{base}, num_branches={self.num_branches}, kept={len(self.kept)}"

    def train(self, mode: bool = True) -> "CodedProjection":
        """Switch modes, and forget what was remembered of the weight."""
        self._factors.forget()
        return super().train(mode)

    def _apply(self, fn: Any, recurse: bool = True) -> "CodedProjection":
        self._factors.forget()
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self

    @property
    def _rule(self) -> Rule:
        return Rule(self.num_branches, self.normalise, self.eps)

    def _remembered(self) -> BranchFactors | None:
        """What is computed of the weight once, where it stands still; None where it may change or a graph is made."""
        if self.training or torch.is_grad_enabled() or torch.compiler.is_compiling():
            return None
        return self._factors.get(self.weight, lambda weight: BranchFactors(weight, len(self.kept)))

    def _raw_energies(
        self, u: Float[Tensor, "batch channels height width"], factors: BranchFactors | None
    ) -> Float[Tensor, "batch kept"]:
        """Energies of the branches as they are, before masks and normalisation."""
        if factors is None:
            return branch_energies(u, branch_grams(self.weight, len(self.kept)), self.out_channels)
        return factors.energies(u)

    def _spread(self, energies: Float[Tensor, "batch kept"]) -> Float[Tensor, "batch branches"]:
        """Energies of the original branches: zero for those that do not exist."""
        if self.kept_index is None:
            return energies
        return energies.new_zeros(energies.shape[0], self.num_branches).index_copy(1, self.kept_index, energies)

    def _rows(self, mask: Tensor | None, u: Tensor, name: str) -> Float[Tensor, "rows kept"] | None:
        """A mask as rows over the branches that exist: one row, or one an image."""
        if mask is None:
            return None
        whole_batch = (self.num_branches,)
        if tuple(mask.shape) not in (whole_batch, (u.shape[0], self.num_branches)):
            raise CodednetError(
                f"{name} must have shape {whole_batch} or {(u.shape[0], self.num_branches)}, a column a branch of "
                f"the original {self.num_branches}; got {tuple(mask.shape)}."
            )
        if name == "keep" and checks_values(mask) and not ((mask == 0) | (mask == 1)).all():
            raise CodednetError("keep must hold 1 for a branch that stays and 0 for one that goes, nothing else.")
        rows = mask if mask.dim() == 2 else mask[None]
        if self.kept_index is not None:
            rows = rows.index_select(1, self.kept_index)
        return rows.to(sum_dtype(u.dtype))

    def _check(self, u: Tensor) -> None:
        if u.dim() != 4 or u.shape[1] != self.in_channels:
            raise CodednetError(
                f"the hidden tensor must be (batch, {self.in_channels}, height, width): {len(self.kept)} branches of "
                f"{self.width} channels; got shape {tuple(u.shape)}."
            )


def _as_convolved(given: Tensor) -> Tensor:
    """The tensor in the type in which autocast, if it is on, would give it to a convolution."""
    device = given.device.type
    if given.dtype == torch.float64 or not torch.is_autocast_enabled(device):
        return given
    return given.to(torch.get_autocast_dtype(device))
