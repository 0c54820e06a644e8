"""What of a verification is done: kept in memory, and in a file if it is to be resumed.

The file is JSON, whole at any moment. It names the model, the settings and the softhat it belongs
to, and is signed with this user's key: what somebody else wrote into it is not believed.
"""

from __future__ import annotations

import json
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from softhat.io.errors import SofthatError
from softhat.io.files import as_path, check_writable, exists, read_json, write_file
from softhat.io.files.keys import is_signed, signature

FORMAT = "softhat-verification/2"
EVERY = 2.0
"""Seconds between writes."""


@dataclass
class FindingsByItem:
    """Findings by item number."""

    path: Path | None
    fingerprint: str
    done: dict[int, dict[str, Any]] = field(default_factory=dict)
    words: int = 0
    contiguous: int = 0
    """Items 0 … contiguous - 1 are done."""
    mismatch: int | None = None
    """The first item known to have found one."""
    written: float = -EVERY
    complained: bool = False

    @staticmethod
    def open(path: str | Path | None, fingerprint: str) -> FindingsByItem:
        """The state in a file, or an empty one that will be written there."""
        state = FindingsByItem(as_path(path) if path is not None else None, fingerprint)
        if state.path is None:
            return state
        if not exists(state.path):
            check_writable(state.path)
            return state
        try:
            stored = read_json(state.path)
            if stored["format"] != FORMAT:
                raise KeyError("format")
            owner, done = (
                stored["job"],
                {int(k): findings for k, findings in stored["done"].items()},
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            raise SofthatError(
                f"{path} is not the state of a verification: delete it, or choose another file"
            ) from None
        if owner != fingerprint:
            raise SofthatError(
                f"{path} belongs to another model or other options, or to another softhat: give "
                "the ones it was begun with, or choose another file"
            )
        if not is_signed(_signed_bytes(owner, stored["done"]), stored.get("signature")):
            raise SofthatError(
                f"{path} cannot be believed: it was changed, or another user or machine wrote it; "
                "delete it, or choose another file"
            )
        for k, findings in done.items():
            state._count(k, findings)
        return state

    def add(self, k: int, findings: dict[str, Any]) -> None:
        """An item is done. An item done twice counts once."""
        if k not in self.done:
            self._count(k, findings)
            if self.path is not None and time.monotonic() - self.written > EVERY:
                self.save()

    def _count(self, k: int, findings: dict[str, Any]) -> None:
        self.done[k] = findings
        self.words += int(findings["words"])
        if findings["mismatch"] and (self.mismatch is None or k < self.mismatch):
            self.mismatch = k
        while self.contiguous in self.done:
            self.contiguous += 1

    def end(self, total: int) -> int:
        """Items from this one on do not matter: they come after the first mismatch."""
        return total if self.mismatch is None else self.mismatch + 1

    def finished(self, total: int) -> bool:
        return self.contiguous >= self.end(total)

    def save(self) -> None:
        if self.path is None:
            return
        try:
            self._write(self.path)
        except SofthatError as error:  # the verification itself is not lost by that
            if not self.complained:
                warnings.warn(f"what is done is not kept: {error}", stacklevel=2)
            self.complained = True
        self.written = time.monotonic()

    def _write(self, path: Path) -> None:
        done = {str(k): findings for k, findings in sorted(self.done.items())}
        document = {
            "format": FORMAT,
            "job": self.fingerprint,
            "done": done,
            "signature": signature(_signed_bytes(self.fingerprint, done)),
        }
        write_file(path, json.dumps(document).encode(), own=True)


def _signed_bytes(fingerprint: str, done: dict[str, Any]) -> bytes:
    """What the signature is of: equal data, equal bytes."""
    return json.dumps([FORMAT, fingerprint, done], sort_keys=True).encode()
