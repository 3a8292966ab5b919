"""Data sets, their splits and loaders: what a network is trained, tuned and tested on.

Names load on first use: a config needs no torch, and only `DataModule` needs Lightning.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from codednet.data.batch import Batch
    from codednet.data.config import DataConfig
    from codednet.data.evaluation import evaluation_transform
    from codednet.data.loaders import EvalLoader, TrainLoader
    from codednet.data.module import DataModule
    from codednet.data.opening import Data, open_data
    from codednet.data.reading import UnreadableImage, read_image

_HOME = {
    "Batch": "batch",
    "Data": "opening",
    "DataConfig": "config",
    "DataModule": "module",
    "EvalLoader": "loaders",
    "TrainLoader": "loaders",
    "UnreadableImage": "reading",
    "evaluation_transform": "evaluation",
    "open_data": "opening",
    "read_image": "reading",
}

__all__ = [
    "Batch",
    "Data",
    "DataConfig",
    "DataModule",
    "EvalLoader",
    "TrainLoader",
    "UnreadableImage",
    "evaluation_transform",
    "open_data",
    "read_image",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'codednet.data' has no attribute {name!r}")
    return getattr(importlib.import_module(f"codednet.data.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
