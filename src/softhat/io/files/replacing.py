"""Which folder may take the place of another.

Only what softhat wrote is replaced, file for file as it was written, and only by a folder of the
same kind: a compiled model by a compiled model, never by a page or by a trained one. Commands that
work long ask before they begin.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from softhat.io.errors import SofthatError
from softhat.io.files.reading import refusals
from softhat.io.protection import RECORD, document, is_input

_SHOWN = 5  # names of files in the way


def check_is_folder(name: str | Path) -> None:
    """Refuse a file where a folder is meant."""
    if not Path(os.path.realpath(name)).is_dir():
        raise SofthatError(f"{name} is a file: give the name of a folder")


def check_replaceable(shown: str | Path, new: Mapping[str, Any]) -> list[str]:
    """The files of a folder, which another with the configuration `new` may replace. Refused unless
    softhat wrote them all, and they are a folder of the same kind."""
    folder = Path(os.path.realpath(shown))
    entries = sorted(path.name for path in folder.iterdir())
    if not entries:
        return []
    if any(is_input(folder / name) for name in entries):
        raise SofthatError(
            f"{shown} is what this command reads: choose another folder for the output"
        )
    try:
        config = document(folder / "config.json")
        record = config[RECORD] if isinstance(config, dict) else {}
        digests = {"config.json": None, **record}
    except (SofthatError, KeyError, TypeError):
        config, digests = {}, {}
    foreign = [name for name in entries if not _wrote(folder / name, digests)]
    if foreign:
        names = ", ".join(foreign[:_SHOWN])
        more = f" and {len(foreign) - _SHOWN} more" if len(foreign) > _SHOWN else ""
        raise SofthatError(
            f"{shown} is not a model folder that can be replaced, because softhat did not write "
            f"{names}{more}: choose another name, or move that away"
        )
    if _kind(config) != _kind(new):
        raise SofthatError(
            f"{shown} is a folder of another kind ({_kind(config)}, not {_kind(new)}): "
            "choose another name, or move it away"
        )
    return entries


def _kind(config: Mapping[str, Any]) -> str:
    """What a folder of this configuration is. Whatever `compile` makes is one kind."""
    if "model_type" in config:
        return " ".join(map(str, config.get("architectures") or [config["model_type"]]))
    simulates = config.get("kind") == "simulation"
    return str(config.get("format", "")).partition("/")[0] + " of an AHAT" * simulates


def _wrote(path: Path, digests: Mapping[str, Any]) -> bool:
    """Is it the file that softhat put there, byte for byte?"""
    if path.name not in digests or not stat.S_ISREG(path.lstat().st_mode):
        return False
    expected = digests[path.name]
    if expected is None:  # config.json, which holds the record itself
        return True
    with refusals("read", path), path.open("rb") as file:  # to see whose it is: no input
        return hashlib.file_digest(file, "sha256").hexdigest() == expected
