"""What networks cost: time side by side, memory of a step, multiply-adds."""

from codednet.measure.arithmetic import multiply_adds
from codednet.measure.latency import (
    Comparison,
    Latency,
    compare,
    comparison_of,
    latency_of,
    measure_latency,
    take_turns,
)
from codednet.measure.memory import peak_bytes
from codednet.measure.steps import inference, training_step, usual_loss

__all__ = [
    "Comparison",
    "Latency",
    "compare",
    "comparison_of",
    "inference",
    "latency_of",
    "measure_latency",
    "multiply_adds",
    "peak_bytes",
    "take_turns",
    "training_step",
    "usual_loss",
]
