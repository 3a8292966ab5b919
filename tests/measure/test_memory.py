"""Peak memory and multiply-adds of calls whose numbers are known."""

import pytest
import torch
from torch import nn

from codednet.measure import inference, multiply_adds, peak_bytes, training_step

MEGA = 4 * 1000 * 1000


def test_the_peak_counts_what_lives_at_the_same_time() -> None:
    given = torch.ones(1000, 1000)

    def one_at_a_time() -> None:
        for _ in range(3):
            given.add(1)

    def together() -> list[torch.Tensor]:
        return [given.add(1) for _ in range(3)]

    assert peak_bytes(one_at_a_time) == pytest.approx(MEGA, rel=0.01)
    assert peak_bytes(together) == pytest.approx(3 * MEGA, rel=0.01)


def test_multiply_adds_of_a_convolution_are_counted_once() -> None:
    layer = nn.Conv2d(8, 16, 3, padding=1, groups=2)
    assert multiply_adds(lambda: layer(torch.rand(2, 8, 5, 5))) == 2 * 16 * 4 * 9 * 25


def test_a_training_step_changes_the_weights_and_an_inference_none() -> None:
    model, images = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)), torch.rand(2, 3, 5, 5)
    before = [value.clone() for value in model.state_dict().values()]
    inference(model, images)()
    assert all(map(torch.equal, before, model.state_dict().values()))
    training_step(model, images, lambda net, x: net(x).square().mean() + net(x).mean(), bf16=True)()
    assert not any(map(torch.equal, before[:2], model.state_dict().values()))
