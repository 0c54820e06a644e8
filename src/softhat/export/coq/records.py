"""Which theorems Coq has accepted on this machine.

A record is named after the digest of the theorem's file, which holds the formula and every weight,
and is signed with the user's key: so it says nothing about another model, and nobody else can write
one. It is for display. What counts is that anybody can have Coq check the file again.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from softhat.export.coq.theorem import theorem
from softhat.io.errors import SofthatError
from softhat.io.files import write_file
from softhat.io.files.keys import is_signed, signature
from softhat.models.model import Model


def remember(text: str) -> None:
    """Coq has accepted this file."""
    digest = _digest(text)
    signed = signature(digest.encode())
    if signed is None:
        return
    try:
        _folder().mkdir(parents=True, exist_ok=True)
        write_file(_folder() / digest, signed.encode())
    except (SofthatError, OSError):
        return  # without a record Coq is asked again next time


def is_machine_checked(model: Model) -> bool:
    """Has Coq accepted the theorem about this very model here?"""
    if not count():
        return False
    try:
        digest = _digest(theorem(model))
        stated = (_folder() / digest).read_text(encoding="utf-8")
    except (SofthatError, OSError, UnicodeDecodeError):
        return False
    return is_signed(digest.encode(), stated)


def count() -> int:
    """How many records there are."""
    try:
        return sum(1 for _ in _folder().iterdir())
    except OSError:
        return 0


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "softhat" / "coq"
