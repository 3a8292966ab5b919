"""Batch norm over a part of the batch, as the paper's replicas saw it: statistics of 64 or 192 images, not of all."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class PartBatchNorm2d(nn.BatchNorm2d):
    """Batch norm whose training statistics are those of `images` images at a time; its state is batch norm's."""

    images: int

    def forward(self, x: Tensor) -> Tensor:
        """Each part of the batch, normalised by itself."""
        if not self.training or len(x) <= self.images:
            return super().forward(x)
        parts = torch.split(x, self.images)
        assert self.num_batches_tracked is not None
        assert self.momentum is not None
        self.num_batches_tracked.add_(1)
        # All parts together move the running statistics as far as one batch would.
        momentum = self.momentum / len(parts)
        outputs = [
            F.batch_norm(part, self.running_mean, self.running_var, self.weight, self.bias, True, momentum, self.eps)
            for part in parts
        ]
        return torch.cat(outputs)


def norm_in_parts(model: nn.Module, images: int) -> None:
    """Let every batch norm of the network take its statistics from `images` images at a time."""
    for module in model.modules():
        if type(module) is nn.BatchNorm2d:
            module.__class__ = PartBatchNorm2d
            module.images = images  # type: ignore[assignment]
