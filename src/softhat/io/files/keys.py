"""A secret of this user, with which softhat signs what it will later believe.

Work in progress is kept in files that anybody may have edited. A signature tells what this
user's softhat wrote from what somebody invented. It proves nothing to others: whoever has the
account has the key.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from softhat.io.errors import SofthatError
from softhat.io.files.reading import read_bytes

BYTES = 32


def signature(data: bytes) -> str | None:
    """The signature of these bytes; None where no key can be kept."""
    key = _key()
    return None if key is None else hmac.new(key, data, hashlib.sha256).hexdigest()


def is_signed(data: bytes, stated: object) -> bool:
    """Did this user's softhat sign these bytes?"""
    expected = signature(data)
    return (
        expected is not None
        and isinstance(stated, str)
        and hmac.compare_digest(expected.encode(), stated.encode())
    )


def _key() -> bytes | None:
    """The key, made when first asked for."""
    # Path.expanduser raises where there is no home.
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111
    path = Path(home) / "softhat" / "key"
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(BYTES))
    try:
        key = read_bytes(path)
    except SofthatError:
        return None
    return key if len(key) == BYTES else None
