"""Files appear whole or not at all: written under a temporary name, then renamed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from softhat.errors import SofthatError


def write_file(path: Path, data: bytes) -> None:
    """Put `data` at `path`; whoever is killed in between leaves what was there before."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with fresh.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise SofthatError(f"cannot write {path}: {error.strerror or error}") from None


def as_json(document: Any) -> bytes:
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"
