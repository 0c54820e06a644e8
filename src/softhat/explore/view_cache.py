"""Views of what has a name, kept on disk: certificates of the gallery take seconds to compute.

A cached view is signed with the user's key and named after softhat's own source, so that another
version, or another hand, has no say in what the page claims. Nothing depends on it: what cannot be
kept or read is computed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from softhat.explore.requests import RASP_LENGTH, is_named, view_of
from softhat.export.coq import records
from softhat.io.errors import SofthatError
from softhat.io.files import json_bytes, read_json, write_file
from softhat.io.files.keys import is_signed, signature


def cached_view(request: Mapping[str, Any]) -> dict[str, Any]:
    """The view of a request: from the disk, or computed and then written there."""
    if not is_named(request):
        return view_of(request)
    file = _folder() / f"{_name(request)}.json"
    stored = _read(file)
    if stored is not None:
        return stored
    view = view_of(request)
    _write(file, view)
    return view


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "softhat" / "views"


def _name(request: Mapping[str, Any]) -> str:
    word = request.get("word")
    if (
        isinstance(word, str) and len(word) <= RASP_LENGTH
    ):  # a longer one makes RASP programs longer
        request = {**request, "word": ""}
    text = json.dumps([_source(), records.count(), request], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _source() -> str:
    """A digest of softhat's own source."""
    import softhat

    digest = hashlib.sha256()
    for file in sorted(Path(str(softhat.__file__)).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _read(file: Path) -> dict[str, Any] | None:
    try:
        document = read_json(file)
        view = document["view"]
        return view if is_signed(json_bytes(view), document["signature"]) else None
    except (SofthatError, OSError, KeyError, TypeError):
        return None


def _write(file: Path, view: dict[str, Any]) -> None:
    plain = json.loads(json_bytes(view))  # as it will be read: keys are text, tuples are lists
    signed = signature(json_bytes(plain))
    if signed is None:
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_file(file, json_bytes({"view": plain, "signature": signed}))
    except (SofthatError, OSError):
        return
