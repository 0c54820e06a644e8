"""Which theorems Coq has accepted on this machine.

A record is named after the digest of the theorem's file, which holds the formula and every weight,
and, in front of it, after what is asked of the model: writing a theorem may take a second, and for
most models there is none to be found. It states the length to which Coq accepted the theorem in
binary32, and is signed with the user's key: so it says nothing about another model, and nobody else
can write one. It is for display. What counts is that anybody can have Coq check the file again.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from softhat.export.coq.theorem import theorem
from softhat.io.errors import SofthatError
from softhat.io.files import write_file
from softhat.io.files.keys import is_signed, signature
from softhat.logic.syntax.print import to_text
from softhat.models.model import Model


def remember(model: Model, text: str, binary32: int) -> None:
    """Coq has accepted this file about a model, and its theorem in binary32 to this length (0: it
    has none)."""
    digest = _digest(text)
    signed = signature(_claim(digest, str(binary32)))
    if signed is None:
        return
    try:
        _folder().mkdir(parents=True, exist_ok=True)
        write_file(_folder() / f"{_asked(model)}-{digest}", f"{binary32} {signed}".encode())
    except (SofthatError, OSError):
        return  # without a record Coq is asked again next time


def machine_checked(model: Model) -> int | None:
    """The length to which Coq has accepted this very model in binary32, here: 0 if it accepted it
    in the reals alone. None if it has accepted nothing."""
    asked = _asked(model)
    try:
        if not any(_folder().glob(f"{asked}-*")):
            return None
        digest = _digest(theorem(model))
        stated = (_folder() / f"{asked}-{digest}").read_text(encoding="utf-8")
    except (SofthatError, OSError, UnicodeDecodeError):
        return None
    binary32, _, signed = stated.partition(" ")
    return int(binary32) if is_signed(_claim(digest, binary32), signed) else None


def count() -> int:
    """How many records there are."""
    try:
        return sum(1 for _ in _folder().iterdir())
    except OSError:
        return 0


def _asked(model: Model) -> str:
    """What models with such a theorem have in common: formulas, symbols, and what attention is."""
    formulas = [f"{name}: {to_text(formula)}" for name, formula in model.formulas.items()]
    weights = model.transformer
    return _digest("\n".join([weights.attention, *weights.symbols, *formulas]))[:16]


def _claim(digest: str, binary32: str) -> bytes:
    return f"{digest} {binary32}".encode()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "softhat" / "theorems"
