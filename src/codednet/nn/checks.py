"""When values may be looked at."""

import torch
from torch import Tensor


def checks_values(*tensors: Tensor) -> bool:
    """Whether a check may read these tensors: never while a compiler traces, nor where a training step would wait.

    Reading a tensor on an accelerator makes the host wait for it, so there only inference is checked.
    """
    if torch.compiler.is_compiling():
        return False
    return not torch.is_grad_enabled() or all(tensor.device.type == "cpu" for tensor in tensors)
