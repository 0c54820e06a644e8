"""softhat compiles hard attention into softmax transformers that provably compute the same.

The public names, nothing else: `__init__.pyi` lists them. They are loaded when first used, so that
`import softhat` is fast and never imports torch.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.2.0"


def _homes() -> dict[str, str]:
    """The module of each name in the stub, whose lines are `from MODULE import NAME as NAME`."""
    stub = __loader__.get_data(f"{__file__}i").decode()  # from an archive too
    lines = (line.split() for line in stub.splitlines() if line.startswith("from "))
    return {name: module for _, module, _, name, _, _ in lines}


_HOME = _homes()
__all__ = [*_HOME, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'softhat' has no attribute {name!r}")
    if _HOME[name] == __name__:
        return importlib.import_module(f"{__name__}.{name}")
    value = getattr(__import__(_HOME[name], fromlist=[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
