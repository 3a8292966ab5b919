"""What networks cost: time side by side, memory of a step, multiply-adds."""

from codednet.measure.arithmetic import multiply_adds
from codednet.measure.latency import Comparison, Latency, compare, measure_latency
from codednet.measure.memory import peak_bytes
from codednet.measure.steps import inference, training_step

__all__ = [
    "Comparison",
    "Latency",
    "compare",
    "inference",
    "measure_latency",
    "multiply_adds",
    "peak_bytes",
    "training_step",
]
