"""What an evaluated coded layer computes of its weights once: they stand still.

With W_n = Q_n R_n the output of a branch has the energy of R_n u_n, d channels instead of C. As a sum of squares it is
never negative and keeps its precision when a branch is near silent.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from codednet.nn import onednn
from codednet.nn.energy import energy_precision, exactly, pixel_means, sum_dtype
from codednet.nn.grouped import branches_a_group, grouped_kernel


class BranchFactors:
    """R_n with R_n^T R_n = W_n^T W_n / C of every branch, and the weight itself, in every precision asked for."""

    def __init__(self, weight: Float[Tensor, "out channels 1 1"], branches: int) -> None:
        self._weight = weight.detach()
        out_channels = weight.shape[0]
        matrix = self._weight.to(sum_dtype(weight.dtype)).view(out_channels, branches, -1).transpose(0, 1)
        width = matrix.shape[2]
        triangle = torch.linalg.qr(matrix, mode="r").R / out_channels**0.5
        self.triangles = F.pad(triangle, (0, 0, 0, width - triangle.shape[1]))
        self._share = branches_a_group(branches, width)
        self._kernels: dict[torch.dtype, Tensor] = {}
        self._transposed: dict[torch.dtype, Tensor] = {}
        self._weights: dict[torch.dtype, Tensor] = {}
        self._shared = 0, self.triangles
        self._packed: dict[torch.dtype, tuple[torch.Size, Tensor]] = {}

    def weight(self, dtype: torch.dtype) -> Float[Tensor, "out channels 1 1"]:
        """The layer's weight in this precision; autocast alone would convert it in every pass."""
        if dtype == self._weight.dtype:
            return self._weight
        if dtype not in self._weights:
            self._weights[dtype] = self._weight.to(dtype)
        return self._weights[dtype]

    def convolve(self, u: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch out height width"]:
        """The layer's convolution, in the precision of `u`."""
        if u.shape[0] == 1 and onednn.packs(u):  # for more images, ordering the weight takes no time that counts
            return onednn.convolve_packed(u, self._packed_for(u))
        with exactly(u):
            return F.conv2d(u, self.weight(u.dtype))

    def energies(self, u: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch kept"]:
        """Mean square of every branch's output (equation 2), in float32 at least."""
        u = energy_precision(u)
        with exactly(u):
            if u.shape[0] == 1 or u.dtype == torch.bfloat16:
                return self._by_products(u)
            moved = F.conv2d(u, self._kernel(u.dtype), groups=self.triangles.shape[0] // self._share)
        return pixel_means(moved.mul_(moved), self.triangles)

    def normalised(
        self, u: Float[Tensor, "batch channels height width"], num_branches: int, eps: float, *, reuse: bool
    ) -> Float[Tensor, "batch channels height width"]:
        """`u` with each image scaled to a mean energy of 1, in the fewest operations; `reuse` lets it overwrite `u`.

        Energies one by one are not asked for.
        """
        with exactly(u):
            root = (self._mean_root_of_one if u.shape[0] == 1 else self._mean_roots)(u, num_branches)
        root.clamp_min_(eps**0.5)
        return u.div_(root) if reuse else u / root

    def _mean_root_of_one(self, u: Float[Tensor, "1 channels height width"], num_branches: int) -> Float[Tensor, ""]:
        """Root of an image's mean energy. With one image, what counts is how many operations are called."""
        kept, width, _ = self.triangles.shape
        pixels = u.shape[2] * u.shape[3]
        # In float32, since products as small in bfloat16 take longer than the conversion.
        fine = u.to(self.triangles.dtype)
        if u.is_contiguous(memory_format=torch.channels_last):
            columns = fine.as_strided((kept, width, pixels), (width, 1, kept * width))
        else:
            columns = fine.reshape(kept, width, pixels)
        # Autocast leaves a product alone that says where its result goes.
        moved = torch.bmm(self._shares(pixels * num_branches), columns, out=columns.new_empty(columns.shape))
        root: Tensor = torch.linalg.vector_norm(moved)
        return root

    def _mean_roots(
        self, u: Float[Tensor, "batch channels height width"], num_branches: int
    ) -> Float[Tensor, "batch 1 1 1"]:
        """Root of every image's mean energy."""
        moved = F.conv2d(u, self._kernel(u.dtype), groups=self.triangles.shape[0] // self._share)
        rows = moved.permute(0, 2, 3, 1).flatten(1)  # no copy in channels_last
        roots: Tensor = torch.linalg.vector_norm(rows, dim=1).to(self.triangles.dtype)
        roots.mul_((u.shape[2] * u.shape[3] * num_branches) ** -0.5)
        return roots.to(u.dtype).view(-1, 1, 1, 1)

    def _by_products(self, u: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch kept"]:
        """As matrix products: for one image, or in bfloat16, they cost less than a grouped convolution."""
        moved = self._moved(u).view(self.triangles.shape[0], u.shape[0], -1)
        norms = torch.linalg.vector_norm(moved, dim=2, dtype=self.triangles.dtype)
        means: Tensor = norms.T.square().div_(u.shape[2] * u.shape[3])
        return means

    def _moved(self, u: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "kept rows columns"]:
        """R_n u_n of every branch, its pixels as rows or as columns."""
        kept, width, _ = self.triangles.shape
        rows = u.permute(0, 2, 3, 1).reshape(-1, kept, width).transpose(0, 1)
        if u.dtype == self.triangles.dtype:
            return torch.bmm(self.triangles, rows.mT)
        return torch.bmm(rows, self._transpose(u.dtype))

    def _kernel(self, dtype: torch.dtype) -> Float[Tensor, "channels group 1 1"]:
        if dtype not in self._kernels:
            self._kernels[dtype] = grouped_kernel(self.triangles, self._share).to(dtype)
        return self._kernels[dtype]

    def _transpose(self, dtype: torch.dtype) -> Float[Tensor, "kept d d"]:
        if dtype not in self._transposed:
            self._transposed[dtype] = self.triangles.mT.to(dtype).contiguous()
        return self._transposed[dtype]

    def _shares(self, count: int) -> Float[Tensor, "kept d d"]:
        """R_n over the root of `count`, in how many parts the squares are to be split; the last count is remembered."""
        if self._shared[0] != count:
            self._shared = count, self.triangles / count**0.5
        return self._shared[1]

    def _packed_for(self, u: Float[Tensor, "1 channels height width"]) -> Tensor:
        """The packed weight for images of this size; the last size is remembered."""
        known = self._packed.get(u.dtype)
        if known is None or known[0] != u.shape:
            known = self._packed[u.dtype] = u.shape, onednn.pack(self.weight(u.dtype), u.shape)
        return known[1]
