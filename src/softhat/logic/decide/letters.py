"""What words are made of: symbols, one a position, or sets of propositions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from softhat.io.errors import SofthatError
from softhat.logic.fragments import symbols_of
from softhat.logic.semantics.words import Word
from softhat.logic.syntax.nodes import Formula


@dataclass(frozen=True, slots=True)
class Letters:
    """One letter for each way in which formulas can tell symbols (or sets) apart, in order."""

    names: tuple[str, ...]
    propositional: bool

    @property
    def count(self) -> int:
        return 1 << len(self.names) if self.propositional else len(self.names)

    @property
    def bits(self) -> int:
        """How many bits name a letter."""
        return len(self.names) if self.propositional else (len(self.names) - 1).bit_length()

    def letter(self, number: int) -> str | frozenset[str]:
        return self._set(number) if self.propositional else self.names[number]

    def all(self) -> list[str] | list[frozenset[str]]:
        if self.propositional:
            return [self._set(number) for number in range(self.count)]
        return list(self.names)

    def word(self, numbers: Sequence[int]) -> Word:
        """Text where every symbol is one character, else a list."""
        if self.propositional:
            return [set(self._set(number)) for number in numbers]
        symbols = [self.names[number] for number in numbers]
        return "".join(symbols) if all(len(name) == 1 for name in self.names) else symbols

    def _set(self, number: int) -> frozenset[str]:
        """The first proposition is the highest bit of a set's number."""
        high = len(self.names) - 1
        return frozenset(name for k, name in enumerate(self.names) if number >> high - k & 1)


def letters_for(
    formulas: Sequence[Formula],
    alphabet: Iterable[str] | None,
    propositions: Iterable[str] | None,
) -> Letters:
    """The letters of the given alphabet or propositions that matter to `formulas`.

    Without either, the formulas' own symbols are the alphabet. Symbols that no formula mentions
    are all alike, so the first of them stands for the rest; propositions that none mentions are
    false throughout.
    """
    named = symbols_of(*formulas)
    if propositions is not None:
        if alphabet is not None:
            raise SofthatError("words have an alphabet or propositions, not both")
        given = _names(propositions, "propositions")
        _check(named, given, "propositions")
        return Letters(tuple(name for name in given if name in named), True)
    if alphabet is None:
        return Letters(tuple(named or ["a"]), False)
    symbols = _names(alphabet, "alphabet")
    if not symbols:
        raise SofthatError("the alphabet is empty: give at least one symbol")
    _check(named, symbols, "alphabet")
    others = [symbol for symbol in symbols if symbol not in named][:1]
    return Letters(tuple(s for s in symbols if s in named or s in others), False)


def _names(given: Iterable[str], kind: str) -> list[str]:
    if not isinstance(given, Iterable):
        raise SofthatError(f"the {kind} must be text or a list of strings, not {given!r}")
    return list(dict.fromkeys(given))


def _check(named: list[str], known: list[str], kind: str) -> None:
    for name in named:
        if name not in known:
            raise SofthatError(f"the formulas mention {name!r}, which is not in the {kind}")
