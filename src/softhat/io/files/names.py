"""Names of files and folders: what may be one, and whether something of that name exists.

Where a folder may be given, a formula may be too, and a long one: `Path.exists` and its like raise
an error for a text that is too long to be a name. The functions here say no.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from softhat.io.argument_types import shown
from softhat.io.errors import SofthatError

_SHOWN = 60  # characters of a wrong name


def as_path(name: object) -> Path:
    """The path that was given as text or as a `pathlib.Path`; anything else is refused."""
    if not isinstance(name, str | Path) or name == "":
        raise SofthatError(
            "expected the name of a file or folder, as text or as a pathlib.Path, "
            f"not {shown(name)}"
        )
    try:
        os.lstat(name)
    except OSError as error:  # that there is none is for the caller to say
        if error.errno == errno.ENAMETOOLONG:
            begins = str(name)[:_SHOWN]
            raise SofthatError(f"too long for the name of a file: {begins!r}…") from None
    except ValueError as error:  # a null in the name
        raise SofthatError(f"not the name of a file: {str(name)[:_SHOWN]!r}: {error}") from None
    return Path(name)


def exists(name: str | Path) -> bool:
    return os.path.exists(name)  # noqa: PTH110


def is_file(name: str | Path) -> bool:
    return os.path.isfile(name)  # noqa: PTH113


def is_folder(name: str | Path) -> bool:
    return os.path.isdir(name)  # noqa: PTH112
