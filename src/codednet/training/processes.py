"""What the processes of one training agree on: who is first, and what the first one tells the others."""

import os
from typing import TypeVar

import torch
import torch.distributed as dist

from codednet.training.device import Choice

T = TypeVar("T")


def join(choice: Choice) -> None:
    """Join the other processes that torchrun or SLURM started; nothing where there is one process alone."""
    if choice.world == 1 or dist.is_initialized():
        return
    from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
    from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment

    found: SLURMEnvironment | TorchElasticEnvironment
    found = TorchElasticEnvironment() if TorchElasticEnvironment.detect() else SLURMEnvironment()
    address = f"tcp://{found.main_address}:{found.main_port}"
    os.environ.setdefault("MASTER_ADDR", found.main_address)
    os.environ.setdefault("MASTER_PORT", str(found.main_port))
    if choice.device.type == "cuda":
        torch.cuda.set_device(found.local_rank())
    backend = "nccl" if choice.device.type == "cuda" else "gloo"
    dist.init_process_group(backend, init_method=address, rank=found.global_rank(), world_size=choice.world)


def is_first() -> bool:
    """Whether this process is the first, or the only one."""
    return not dist.is_initialized() or dist.get_rank() == 0


def from_first(value: T) -> T:
    """What the first process has; the others' own is dropped."""
    if not dist.is_initialized():
        return value
    box = [value]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def leave() -> None:
    """Leave the other processes."""
    if dist.is_initialized():
        dist.destroy_process_group()
