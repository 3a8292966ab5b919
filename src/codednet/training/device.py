"""What a training runs on, chosen and said aloud: device, precision, processes, memory."""

import ctypes
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch

from codednet.errors import CodednetError
from codednet.runs.collect import pick_device
from codednet.runs.config import MachineConfig


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What the trainer is told."""

    device: torch.device
    precision: str
    """float32, bf16 or fp16."""
    devices: int
    """Processes of this machine, each with a device."""
    nodes: int

    @property
    def world(self) -> int:
        """Processes in all."""
        return self.devices * self.nodes

    def trainer_options(self) -> dict[str, Any]:
        """Options of a Lightning Trainer."""
        from lightning.pytorch.strategies import DDPStrategy

        precision = {"float32": "32-true", "bf16": "bf16-mixed", "fp16": "16-mixed"}[self.precision]
        options: dict[str, Any] = {
            "accelerator": {"cuda": "gpu"}.get(self.device.type, self.device.type),
            "devices": self.devices,
            "num_nodes": self.nodes,
            "precision": precision,
        }
        if self.world > 1:
            backend = "nccl" if self.device.type == "cuda" else "gloo"
            options["strategy"] = DDPStrategy(process_group_backend=backend)
        return options

    def __str__(self) -> str:
        """What was chosen, in a sentence."""
        name = self.device.type
        if name == "cuda":
            name = torch.cuda.get_device_name()
        elif name == "cpu":
            name = f"CPU, {torch.get_num_threads()} threads"
        processes = f", {self.world} processes" if self.world > 1 else ""
        more = ""
        if self.device.type == "cuda" and self.world == 1 and torch.cuda.device_count() > 1:
            count = torch.cuda.device_count()
            more = f" (one of {count}: torchrun --nproc-per-node {count} -m codednet train ... uses all)"
        return f"training on {name}{more}{processes}, in {self.precision}"


def choose(machine: MachineConfig) -> Choice:
    """Device, precision and number of processes, from what there is and what the config asks for."""
    if machine.threads:
        torch.set_num_threads(machine.threads)
    device = pick_device(machine.device)
    precision = machine.precision
    if precision == "auto":
        precision = "bf16" if computes_bf16(device) else "float32"
    if precision == "fp16" and device.type == "cpu":
        raise CodednetError("fp16 trains on accelerators alone: use bf16 or float32 on a CPU.")
    devices, nodes = launched_processes()
    if device.type == "cpu":
        keep_freed_memory()
    return Choice(device=device, precision=precision, devices=devices, nodes=nodes)


def computes_bf16(device: torch.device) -> bool:
    """Whether the hardware itself multiplies in bfloat16."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type == "cpu":
        found = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
        return any(found.get(name, False) for name in ("avx512_bf16", "amx_bf16", "bf16"))
    return False


def launched_processes() -> tuple[int, int]:
    """Processes of this machine, and machines, as torchrun or SLURM started them; (1, 1) without either."""
    names = os.environ
    if "TORCHELASTIC_RUN_ID" in names:
        local, world = int(names["LOCAL_WORLD_SIZE"]), int(names["WORLD_SIZE"])
        return local, max(world // local, 1)
    if "SLURM_NTASKS" in names and int(names["SLURM_NTASKS"]) > 1 and names.get("SLURM_JOB_NAME") != "bash":
        nodes = int(names.get("SLURM_NNODES", 1))
        return int(names["SLURM_NTASKS"]) // nodes, nodes
    return 1, 1


def keep_freed_memory() -> None:
    """Let the C library keep what tensors free for the next ones: new memory costs a page fault for each 4 KiB."""
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        largest = 32 * 2**20  # the most that glibc takes from its heap
        libc.mallopt(-3, largest)  # M_MMAP_THRESHOLD
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
