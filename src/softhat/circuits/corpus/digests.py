"""Digests beside the files of a corpus, in the format of `sha256sum`, to recognise damage.

A list is written after the files that it names. So it also says that they are all there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from softhat.io.errors import SofthatError
from softhat.io.files import opened, read_text, write_file

_LINE = re.compile(r"([0-9a-f]{64})  ([^/\n]+)")


def write_digests(path: Path, contents: Mapping[str, bytes]) -> None:
    """Record the digests of files that lie beside `path`."""
    lines = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in contents.items()]
    write_file(path, "".join(lines).encode(), own=True)


def damaged_files(path: Path) -> list[Path]:
    """The files of a list that are missing or changed; the list itself, if it is."""
    try:
        text = read_text(path)
    except SofthatError:  # not even text
        return [path]
    lines = [_LINE.fullmatch(line) for line in text.split("\n")[:-1]]
    if not lines or None in lines:
        return [path]
    named = [(path.parent / line[2], line[1]) for line in lines if line is not None]
    return [file for file, digest in named if _digest(file) != digest]


def _digest(path: Path) -> str | None:
    try:
        with opened(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except SofthatError:
        return None
