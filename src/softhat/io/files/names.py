"""What stands under a name, if anything. What is no name at all, being too long, is nothing.

`Path.exists` and its like raise there, but a formula may be given where a folder may.
"""

from __future__ import annotations

import os
from pathlib import Path


def exists(name: str | Path) -> bool:
    return os.path.exists(name)  # noqa: PTH110


def is_file(name: str | Path) -> bool:
    return os.path.isfile(name)  # noqa: PTH113


def is_folder(name: str | Path) -> bool:
    return os.path.isdir(name)  # noqa: PTH112
