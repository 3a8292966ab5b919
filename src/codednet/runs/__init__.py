"""Run folders: configs, files and what a trained network says of a split. Names load on first use."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from codednet.runs.collect import Collected, collect
    from codednet.runs.config import CodingConfig, MachineConfig, ModelConfig, OptimConfig, RunConfig
    from codednet.runs.folder import RunFolder, new_run, open_run

_HOME = {
    "CodingConfig": "config",
    "Collected": "collect",
    "MachineConfig": "config",
    "ModelConfig": "config",
    "OptimConfig": "config",
    "RunConfig": "config",
    "RunFolder": "folder",
    "collect": "collect",
    "new_run": "folder",
    "open_run": "folder",
}

__all__ = [
    "CodingConfig",
    "Collected",
    "MachineConfig",
    "ModelConfig",
    "OptimConfig",
    "RunConfig",
    "RunFolder",
    "collect",
    "new_run",
    "open_run",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'codednet.runs' has no attribute {name!r}")
    return getattr(importlib.import_module(f"codednet.runs.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
