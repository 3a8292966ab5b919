"""Batch norm in parts is the paper's batch norm of a replica."""

import copy

import torch
from torch import nn

from codednet import create_model
from codednet.training.ghost import norm_in_parts


def test_each_part_is_normalised_by_itself() -> None:
    torch.manual_seed(0)
    whole = nn.BatchNorm2d(3)
    parts = nn.Sequential(copy.deepcopy(whole))
    norm_in_parts(parts, 4)
    x = torch.randn(10, 3, 5, 5) * torch.arange(1, 11)[:, None, None, None]
    wanted = torch.cat([copy.deepcopy(whole)(part) for part in x.split(4)])
    assert torch.allclose(parts(x), wanted, atol=1e-6)
    parts.eval(), whole.eval()
    whole.load_state_dict(parts[0].state_dict())
    assert torch.equal(parts(x), whole(x))


def test_running_statistics_move_as_far_as_by_one_batch() -> None:
    torch.manual_seed(0)
    whole, parts = nn.BatchNorm2d(3), nn.Sequential(nn.BatchNorm2d(3))
    norm_in_parts(parts, 4)
    for _ in range(200):
        x = torch.randn(8, 3, 5, 5) * 2 + 1
        whole(x), parts(x)
    assert torch.allclose(parts[0].running_mean, whole.running_mean, atol=0.05)
    assert torch.allclose(parts[0].running_var, whole.running_var, rtol=0.1)
    assert parts[0].num_batches_tracked == 200


def test_state_and_keys_stay_those_of_the_network() -> None:
    model = create_model("coded_resnext20_10x4d")
    keys = list(model.state_dict())
    norm_in_parts(model, 4)
    assert list(model.state_dict()) == keys
    create_model("coded_resnext20_10x4d").load_state_dict(model.state_dict())
