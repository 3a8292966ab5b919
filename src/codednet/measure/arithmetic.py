"""Multiply-adds of a call."""

from collections.abc import Callable

from torch.utils.flop_counter import FlopCounterMode


def multiply_adds(call: Callable[[], object]) -> int:
    """Multiply-adds of the convolutions and matrix products that a call runs; elementwise work is not counted."""
    with FlopCounterMode(display=False) as counter:
        call()
    # The counter counts a multiply-add as two operations.
    return int(counter.get_total_flops()) // 2
