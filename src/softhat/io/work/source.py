"""Which softhat this is: its version and a digest of its source.

What one softhat has found, another may not simply believe: the code may have changed between.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def source_digest() -> str:
    """`version-digest`, the same wherever the same code is installed."""
    from softhat import __version__

    home = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for path in sorted(home.rglob("*")):
        if path.suffix in (".py", ".lark"):
            digest.update(f"{path.relative_to(home).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return f"{__version__}-{digest.hexdigest()[:16]}"
