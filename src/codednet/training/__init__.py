"""Training: the task, recipes, runs that survive interruption. This room knows Lightning.

Names load on first use: recipes need no Lightning.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from codednet.training.recipes import load_recipe, recipe_names
    from codednet.training.run import resume, train
    from codednet.training.task import CodedTask

_HOME = {
    "CodedTask": "task",
    "load_recipe": "recipes",
    "recipe_names": "recipes",
    "resume": "run",
    "train": "run",
}

__all__ = ["CodedTask", "load_recipe", "recipe_names", "resume", "train"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'codednet.training' has no attribute {name!r}")
    return getattr(importlib.import_module(f"codednet.training.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
