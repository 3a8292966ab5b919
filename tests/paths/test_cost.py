import torch

from codednet import extract
from codednet.models.sizes import network_size
from codednet.paths import measure_cost


def test_costs_are_counted_on_the_modules(small) -> None:
    part, image = extract(small, "cat"), torch.zeros(1, 3, 16, 16)
    cost = measure_cost(part, image)
    size = network_size(part.config, 16)
    assert (cost.parameters, cost.multiply_adds) == size
    # Running means and variances come on top of the parameters.
    assert 4 * cost.parameters < cost.bytes < 4.2 * cost.parameters
    assert 0 < cost.latency.seconds <= cost.latency.p95
