"""The learning rate of a moment: warm-up, cosine, cool-down. A function of how far training is, with no state."""

import math

from codednet.runs.config import OptimConfig


def learning_rate(optim: OptimConfig, epoch: float) -> float:
    """Learning rate when `epoch` epochs, a fraction included, are behind.

    The cosine runs from the first epoch to the cool-down; the warm-up replaces its beginning, as in timm.

    >>> optim = OptimConfig(epochs=10, learning_rate=1.0, final_rate=0.0, warmup_epochs=2, warmup_rate=0.0)
    >>> [round(learning_rate(optim, epoch), 3) for epoch in (0, 1, 2, 5, 10)]
    [0.0, 0.5, 0.905, 0.5, 0.0]
    """
    if epoch < optim.warmup_epochs:
        return optim.warmup_rate + (optim.learning_rate - optim.warmup_rate) * epoch / optim.warmup_epochs
    share = min(epoch / (optim.epochs - optim.cooldown_epochs), 1.0)
    return optim.final_rate + (optim.learning_rate - optim.final_rate) * (1 + math.cos(math.pi * share)) / 2
