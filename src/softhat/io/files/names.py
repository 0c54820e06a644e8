"""Is there a file or folder of this name? A text that is too long to be a name has none.

Where a folder may be given, a formula may be too, and a long one: `Path.exists` and its like raise
an error then. These functions say no.
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
