"""What an entry of the zoo is: a language or task with a name, how to say it, what is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
