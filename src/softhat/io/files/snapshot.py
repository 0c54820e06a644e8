"""Reading a folder as it was at one moment, though somebody may be saving into it.

A save changes all files of a folder in one step (`writing`), but a reader opens them one after
another, so it could get one model's weights with another's formula. Every save makes new files,
so a folder whose files are the same before and after reading was read as a whole; if they are not,
it is read again. Where files cannot be changed in one step, `config.json` tells: it has the digests
of the files that were saved with it. A folder that stays at odds with its digests was edited by
hand, which is allowed: it is read as it is.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from softhat.io.errors import SofthatError
from softhat.io.files.reading import opened, read_json
from softhat.io.protection import RECORD

PATIENCE = 30.0
"""Seconds to wait for a folder that is being saved again and again."""
_ODD_TRIES, _PAUSE = 3, 0.02
"""Times that a folder is read again that is at odds with its digests or cannot be read, and seconds
between. (The last step of a save puts the same file where a link to it was. To whoever follows the
link at that moment the system says that it cannot be read.)"""

T = TypeVar("T")


def read_as_a_whole(folder: Path, read: Callable[[], T]) -> T:
    """What `read` makes of a folder, all of it of one state of the folder."""
    until = time.monotonic() + PATIENCE
    odd = 0
    while True:
        before = _state(folder)
        fault: SofthatError | None = None
        try:
            value = read()
        except SofthatError as error:
            fault = error
        if before is not None and before == _state(folder):
            if odd == _ODD_TRIES or (fault is None and _agrees(folder)):
                if fault is not None:
                    raise fault
                return value
            odd += 1
        if time.monotonic() > until:
            raise fault or SofthatError(f"{folder} is being saved all the time: read it later")
        time.sleep(_PAUSE)


@contextmanager
def unchanged(place: Path) -> Iterator[None]:
    """Refuse an answer about a folder or file that was saved again while it was worked out: some of
    it was read before, some after."""
    before = _state(place)
    yield
    if before is None or before != _state(place):
        raise SofthatError(f"{place} was saved again in the meantime: ask again")


def _state(folder: Path) -> dict[str, tuple[int, ...]] | None:
    """Which files the folder has now (a saved file is a new one), or which file it is; None if they
    are changing."""
    state: dict[str, tuple[int, ...]] = {}
    try:
        for path in [folder] if folder.is_file() else folder.iterdir():
            if path.name.startswith("."):
                continue  # another run's files, on their way
            try:
                status = path.stat()
            except OSError:  # a link that leads nowhere is no file that is changing
                status = path.lstat()
            state[path.name] = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)
    except OSError:  # gone between two steps
        return None
    return state


def _agrees(folder: Path) -> bool:
    """Are the files those that were saved with `config.json`?"""
    try:
        config: Any = read_json(folder / "config.json", inside=folder)
        recorded = config.get(RECORD) if isinstance(config, dict) else None
        if not isinstance(recorded, dict):
            return True
        for name, digest in recorded.items():
            with opened(folder / name, inside=folder) as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                    return False
    except (SofthatError, ValueError, TypeError):
        return False
    return True
