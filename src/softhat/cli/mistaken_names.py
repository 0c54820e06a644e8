"""A word that could be the name of a missing folder is not taken for a formula.

Commands take a formula where they take a folder, and `nofolder` is a formula too: the symbol of
that name. To prove a theorem about a typing error helps nobody. So one rule holds for every
command: an argument without any operator, which is a multi-letter name or has a hyphen, a slash
or a dot, is refused, unless the alphabet or the words have it as a symbol.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection
from pathlib import Path

from softhat.io.errors import SofthatError
from softhat.io.files import is_file, is_folder

_BARE = re.compile(r"[\w.~+/\\-]{2,}")
"""No space, no parenthesis, no operator: what people call folders and files."""
_NAME = re.compile(r"[^\W\d]\w*")
_FORMULAS = frozenset({"true", "false", "first", "last"})
_OPERATORS = re.compile(r"([YZOHXNFG]+)([a-z])")


def check_is_formula(
    argument: str,
    alphabet: Collection[str] | None = None,
    used: Collection[str] = (),
) -> None:
    """Refuse the name of something that is not there, or that is no formula.

    `alphabet` is what was declared, `used` the symbols of the words that were given.
    """
    if _BARE.fullmatch(argument) is None or "//" in argument or argument in _FORMULAS:
        return
    if argument in (alphabet or ()) or argument in used:
        return
    if is_folder(argument):
        raise SofthatError(f"{argument} is a folder, and no formula ({_meant(argument)})")
    if is_file(argument):
        raise SofthatError(
            f"{argument} is a file: @{argument} reads a formula from it ({_meant(argument)})"
        )
    parent, name = os.path.split(argument.rstrip("/"))
    try:
        there = sorted(path.name for path in Path(parent or ".").iterdir())
    except (OSError, ValueError):
        there = []
    near = difflib.get_close_matches(name, there, 1, 0.7)
    hint = f": did you mean {Path(parent) / near[0]}?" if near else ""
    raise SofthatError(f"no such folder or file: {_shown(argument)}{hint} ({_meant(argument)})")


def _meant(argument: str) -> str:
    """How to say what else it could be."""
    shown = _shown(argument)
    operators = _OPERATORS.fullmatch(argument)
    if operators is not None:
        return f"for the formula write {' '.join(operators[1] + operators[2])}"
    quoted = f"for the symbol {shown} write \"'{shown}'\""
    if _NAME.fullmatch(argument) is None:
        return quoted
    return f"{quoted}, or declare it with --alphabet {shown},…"


def _shown(argument: str) -> str:
    return argument if len(argument) <= 200 else f"{argument[:199]}…"
