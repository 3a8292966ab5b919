"""codednet: classifiers whose classes travel known paths.

The public face. Names load on first use, so that `import codednet` stays light.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from codednet.codes.code import Code
    from codednet.codes.design import design_code
    from codednet.errors import CodednetError
    from codednet.models.create import create_model
    from codednet.models.saving import load, save
    from codednet.nn.decode import decode
    from codednet.nn.loss import coding_loss, total_loss
    from codednet.paths.extract import extract

_HOME = {
    "Code": "codednet.codes.code",
    "design_code": "codednet.codes.design",
    "CodednetError": "codednet.errors",
    "create_model": "codednet.models",
    "save": "codednet.models",
    "load": "codednet.models",
    "coding_loss": "codednet.nn",
    "total_loss": "codednet.nn",
    "decode": "codednet.nn",
    "extract": "codednet.paths",
}
_ROOMS = ("codes", "data", "models", "nn", "paths", "runs", "testing", "training")

__all__ = [
    "Code",
    "CodednetError",
    "__version__",
    "coding_loss",
    "create_model",
    "decode",
    "design_code",
    "extract",
    "load",
    "save",
    "total_loss",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"codednet.{name}")
    else:
        raise AttributeError(f"module 'codednet' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
