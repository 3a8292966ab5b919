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

_HOME = {
    "Code": "codednet.codes.code",
    "design_code": "codednet.codes.design",
    "CodednetError": "codednet.errors",
}
_ROOMS = ("codes", "testing")

__all__ = ["Code", "CodednetError", "__version__", "design_code"]


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
