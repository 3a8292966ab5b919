"""What is computed from a weight once, while an evaluated network's weights stand still."""

from collections.abc import Callable
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

T = TypeVar("T")


class WeightCache(Generic[T]):
    """Remembers what was computed from a parameter, until the parameter changes.

    A change is seen by the parameter's identity, address and version counter. Writing through `parameter.data`
    leaves all three as they are, so a layer also forgets on `train()`, `eval()`, moves and casts.
    """

    def __init__(self) -> None:
        self._entry: tuple[nn.Parameter, tuple[int, int, torch.dtype], T] | None = None

    def get(self, weight: Tensor, compute: Callable[[Tensor], T]) -> T:
        """What `compute` makes of the weight, computed anew only if the weight changed."""
        # Tensors swapped in by functional_call are no Parameters; inference tensors count no versions.
        if type(weight) is not nn.Parameter or weight.is_inference():
            return compute(weight)
        stamp = (weight._version, weight.data_ptr(), weight.dtype)
        if self._entry is None or self._entry[0] is not weight or self._entry[1] != stamp:
            self._entry = (weight, stamp, compute(weight))
        return self._entry[2]

    def forget(self) -> None:
        """Compute anew next time."""
        self._entry = None

    def __reduce__(self) -> tuple[type["WeightCache[T]"], tuple[()]]:
        # A copied or pickled layer starts with nothing remembered.
        return WeightCache, ()
