"""Run by torchrun: how far the gradients of all processes together are from those of one with the whole batch."""

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from codednet import create_model
from codednet.training import CodedTask


class Step(nn.Module):
    def __init__(self, task: CodedTask) -> None:
        super().__init__()
        self.task = task

    def forward(self, images: Tensor, labels: Tensor) -> Tensor:
        return self.task.training_step((images, labels), 0)["loss"]


def gradients(step: nn.Module, images: Tensor, labels: Tensor) -> list[Tensor]:
    step.zero_grad()
    step(images, labels).backward()
    return [p.grad.clone() for p in step.parameters()]


def main() -> None:
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = create_model("coded_resnext20_10x4d", num_classes=10).eval()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.ones_(module.weight)
    step = Step(CodedTask(model)).eval()
    images, labels = torch.randn(8, 3, 16, 16), torch.arange(8)
    wanted = gradients(step, images, labels)
    part = slice(4 * dist.get_rank(), 4 * dist.get_rank() + 4)
    found = gradients(DistributedDataParallel(step), images[part], labels[part])
    worst = max(float((f - w).abs().max() / w.abs().max()) for f, w in zip(found, wanted, strict=True))
    if dist.get_rank() == 0:
        print(f"{len(wanted)} gradients, {worst:.3e}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
