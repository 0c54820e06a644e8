"""What an entry of the zoo is: a language or task with a name, how to say it, what is known of it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from softhat.io.errors import SofthatError

T = TypeVar("T")
Kind = Literal["formula", "regex", "program", "rasp", "ahat"]

PREFIX = "zoo:"
"""Before an entry's name, wherever a formula or a machine is read."""
AB = ("a", "b")
ABC = ("a", "b", "c")
"""The alphabets of most entries."""


@dataclass(frozen=True, slots=True)
class Entry:
    """`source` says it, in the language that `kind` names; `known` cites by the keys of
    `references`."""

    name: str
    title: str
    family: str
    source: str
    alphabet: tuple[str, ...]
    known: str
    kind: Kind = "formula"
    at: Literal["first", "last"] | None = None
    """Where a formula with past and future operators is read off."""
    propositional: bool = False
    empty: bool = False
    """Does the empty word belong to the language? No model reads it: it has no position."""
    example: str = ""
    """A word that belongs to it."""


def named(name: str, catalogue: Mapping[str, T], what: str) -> T:
    """The entry of this name, with or without `zoo:` before it; an unknown one is refused with
    the names that look like it."""
    plain = name.removeprefix(PREFIX)
    if plain not in catalogue:
        near = difflib.get_close_matches(plain, catalogue, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else "`softhat zoo` lists them"
        raise SofthatError(f"there is no {what}{plain!r} in the zoo: {hint}")
    return catalogue[plain]
