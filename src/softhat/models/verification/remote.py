"""What a worker does: it gets a model as bytes and keeps it for the next item.

The bytes are the JSON and safetensors of the model's folder, never a pickled object.
"""

from __future__ import annotations

import io
import tempfile
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Any

from softhat.io.memory import hold_freed_memory_in_a_worker
from softhat.models.folders import load_compiled
from softhat.models.model import Model
from softhat.models.verification.items import Item, VerificationSettings
from softhat.models.verification.job import Job


def pack_model(model: Model) -> bytes:
    """The files of the model's folder, but for the certificate, as one string of bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in model.contents().items():
            # A fixed date: equal models give equal bytes, which identify them.
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def run_item(packed: bytes, settings: dict[str, Any], item: tuple[Any, ...]) -> dict[str, Any]:
    """What a worker does."""
    hold_freed_memory_in_a_worker()
    return _job(packed, tuple(sorted(settings.items()))).run(Item(*item))


@lru_cache(maxsize=2)
def _job(packed: bytes, settings: tuple[tuple[str, Any], ...]) -> Job:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "model"
        place.mkdir()
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            for name in archive.namelist():
                (place / Path(name).name).write_bytes(archive.read(name))
        return Job(load_compiled(place), VerificationSettings(**dict(settings)))
