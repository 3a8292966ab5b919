import pytest
import torch

from codednet.runs.config import OptimConfig
from codednet.training.schedule import learning_rate


def test_without_warm_up_it_is_torch_s_cosine() -> None:
    optim = OptimConfig(epochs=7, learning_rate=0.1, final_rate=1e-5)
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 70, eta_min=1e-5)
    for step in range(71):
        assert learning_rate(optim, step / 10) == pytest.approx(cosine.get_last_lr()[0], rel=1e-6)
        optimiser.step()
        cosine.step()


def test_imagenet_s_schedule_is_timm_s() -> None:
    from timm.scheduler import CosineLRScheduler

    optim = OptimConfig(
        epochs=250, learning_rate=0.6, final_rate=1e-5, warmup_epochs=5, warmup_rate=1e-4, cooldown_epochs=10
    )
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.6)
    timm = CosineLRScheduler(optimiser, t_initial=240, lr_min=1e-5, warmup_t=5, warmup_lr_init=1e-4)
    for epoch in range(251):
        timm.step(epoch)
        assert learning_rate(optim, epoch) == pytest.approx(optimiser.param_groups[0]["lr"], rel=1e-6)
