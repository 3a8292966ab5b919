"""Branch energies of an evaluated network: weights stand still, so each W_n is reduced to a d x d triangle once.

With W_n = Q_n R_n the output of a branch has the energy of R_n u_n, d channels instead of C. As a sum of squares it is
never negative and keeps its precision when a branch is near silent.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from codednet.nn.energy import branches_a_group, grouped_kernel, no_autocast, pixel_means, sum_dtype


class BranchFactors:
    """R_n with R_n^T R_n = W_n^T W_n of every branch, and the grouped convolution by them."""

    def __init__(self, weight: Float[Tensor, "out channels 1 1"], branches: int) -> None:
        self.out_channels = weight.shape[0]
        matrix = weight.detach().to(sum_dtype(weight.dtype)).view(self.out_channels, branches, -1).transpose(0, 1)
        width = matrix.shape[2]
        triangle = torch.linalg.qr(matrix, mode="r").R
        self.triangles = F.pad(triangle, (0, 0, 0, width - triangle.shape[1]))
        self._kernels: dict[torch.dtype, Tensor] = {}

    def energies(self, u: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch kept"]:
        """Mean square of every branch's output (equation 2), in float32 at least."""
        if u.dtype == torch.float16:
            u = u.float()  # squares leave the range of float16
        with no_autocast(u.device):
            if u.shape[0] == 1:
                return self._energies_of_one(u)
            moved = F.conv2d(u, self._kernel(u.dtype), groups=self._groups)
        return pixel_means(moved.mul_(moved), self.triangles) / self.out_channels

    def _energies_of_one(self, u: Float[Tensor, "1 channels height width"]) -> Float[Tensor, "1 kept"]:
        """For one image a batched product costs less than a grouped convolution."""
        kept, width, _ = self.triangles.shape
        hidden = u.flatten(2).view(kept, width, -1).to(self.triangles.dtype)
        norms = torch.linalg.vector_norm(torch.bmm(self.triangles, hidden), dim=(1, 2))
        means: Tensor = norms.square().div_(self.out_channels * hidden.shape[2])
        return means[None]

    @property
    def _groups(self) -> int:
        kept, width, _ = self.triangles.shape
        return kept // branches_a_group(kept, width)

    def _kernel(self, dtype: torch.dtype) -> Tensor:
        if dtype not in self._kernels:
            self._kernels[dtype] = grouped_kernel(self.triangles, self.triangles.shape[0] // self._groups).to(dtype)
        return self._kernels[dtype]
