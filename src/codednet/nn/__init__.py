"""Tensors and layers of coded networks; they know nothing of data sets, training or files."""

from codednet.nn.decode import decode, nearest_codeword
from codednet.nn.drop import DropBranch
from codednet.nn.loss import coding_loss, total_loss
from codednet.nn.projection import CodedProjection, Projected, Reading

__all__ = [
    "CodedProjection",
    "DropBranch",
    "Projected",
    "Reading",
    "coding_loss",
    "decode",
    "nearest_codeword",
    "total_loss",
]
