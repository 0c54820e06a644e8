"""Classes of symbols in regular expressions: `[ab]`, `[a-z]`, `[^ab]`, `\\d` and `\\w`.

A class stands for symbols of the alphabet that are one character. What it leaves open without an
alphabet (`[^a]`, `\\w`) needs one; what could be meant in two ways is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from softhat.io.errors import FormulaError

MOST_IN_RANGE = 1_024
"""Symbols that a range such as a-z adds where no alphabet is given."""
_KINDS: dict[str, Callable[[str], bool]] = {
    "d": lambda c: c.isdecimal(),
    "w": lambda c: c.isalnum() or c == "_",
    "s": lambda c: c.isspace(),
}


class ClassPlace(NamedTuple):
    """Where a class stands: its text, and where that begins in which expression."""

    text: str
    start: int
    whole: str

    def fault(self, message: str, at: int = 0) -> FormulaError:
        return FormulaError(message, self.start + at, self.whole)


def members(place: ClassPlace, alphabet: tuple[str, ...] | None) -> list[str]:
    """The symbols that a class stands for, in order; of the alphabet, if one is given."""
    if place.text.startswith("\\"):
        return _known(place, alphabet, [place.text[1]], {}, negated=False)
    negated = place.text.startswith("[^")
    kinds: list[str] = []
    named: dict[str, int] = {}
    at, end = 1 + negated, len(place.text) - 1
    while at < end:
        first, after = _one(place, at, kinds)
        if first is None:
            at = after
        elif place.text[after] == "-" and after + 1 < end:
            last, at_end = _one(place, after + 1, kinds)
            if last is None or last < first:
                raise place.fault(f"the range {place.text[at:at_end]} goes backwards", at)
            _add_range(place, first, last, alphabet, named, at)
            at = at_end
        else:
            if alphabet is not None and first not in alphabet:
                shown = " ".join(alphabet[:20])
                raise place.fault(f"{first} is not in the alphabet: expected one of {shown}", at)
            named[first] = at
            at = after
    return _known(place, alphabet, kinds, named, negated)


def _one(place: ClassPlace, at: int, kinds: list[str]) -> tuple[str | None, int]:
    """A character and where the next begins; None for a kind such as \\d, which is noted."""
    char = place.text[at]
    if char == "\\":
        escaped = place.text[at + 1]
        if escaped.lower() in _KINDS:
            kinds.append(escaped)
            return None, at + 2
        if escaped.isalnum():
            raise place.fault(no_such_escape(escaped), at)
        return escaped, at + 2
    if char in "['\"" or char.isspace():
        shown = "a space" if char.isspace() else char
        raise place.fault(f"{shown} in a class is written with a backslash before it", at)
    return char, at + 1


def no_such_escape(char: str) -> str:
    """Why a backslash before a letter or digit is refused."""
    if char.isdecimal():
        return f"\\{char} would refer back to a group, which no automaton can: write {char} for it"
    return f"\\{char} means nothing here, as \\d, \\w, \\s do: for the symbol write {char}"


def _add_range(
    place: ClassPlace,
    first: str,
    last: str,
    alphabet: tuple[str, ...] | None,
    named: dict[str, int],
    at: int,
) -> None:
    if alphabet is not None:
        inside = [name for name in alphabet if len(name) == 1 and first <= name <= last]
        if not inside:
            raise place.fault(f"the alphabet has no symbol from {first} to {last}", at)
    else:
        if ord(last) - ord(first) >= MOST_IN_RANGE:
            raise place.fault(f"{first}-{last} is a large range: give the alphabet", at)
        inside = [chr(code) for code in range(ord(first), ord(last) + 1)]
    named.update(dict.fromkeys(inside, at))


def _known(
    place: ClassPlace,
    alphabet: tuple[str, ...] | None,
    kinds: list[str],
    named: dict[str, int],
    negated: bool,
) -> list[str]:
    if alphabet is None:
        if negated or kinds:
            raise place.fault(
                f"{place.text} depends on the alphabet: give it, such as alphabet='ab' "
                "(--alphabet ab)"
            )
        return list(named)
    letters = [name for name in alphabet if len(name) == 1]
    inside = set(named)
    for kind in kinds:
        holds = _KINDS[kind.lower()]
        of_kind = {name for name in letters if holds(name) == kind.islower()}
        if not of_kind:
            raise place.fault(f"\\{kind}: the alphabet has no such symbol")
        inside |= of_kind
    return [name for name in alphabet if (name in inside) != negated]
