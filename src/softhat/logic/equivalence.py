"""Do two formulas mean the same on all short words?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from softhat.errors import SofthatError
from softhat.logic.fragments import symbols_of
from softhat.logic.semantics.batch import all_words, evaluate, unpack
from softhat.logic.semantics.words import Word
from softhat.logic.syntax.nodes import Formula, Xor
from softhat.logic.syntax.parse import parse

_CHUNK = 1 << 20  # words evaluated together: memory stays bounded however many there are


def equivalent(
    f: Formula | str,
    g: Formula | str,
    alphabet: Iterable[str] | None = None,
    propositions: Iterable[str] | None = None,
    up_to: int = 10,
) -> Word | None:
    """None if f and g agree at every position of every word of at most `up_to` symbols.

    Otherwise the shortest word on which they differ, the first in the order of the alphabet.
    Without an alphabet (or propositions) the words are made of the formulas' own symbols.
    """
    f, g = _formula(f), _formula(g)
    if not isinstance(up_to, int) or up_to < 1:
        raise SofthatError(f"up_to is a length of words, at least 1, not {up_to!r}")
    letters = _letters(f, g, alphabet, propositions)
    differ = Xor(f, g)
    for length in range(1, up_to + 1):
        total = len(letters) ** length
        for start in range(0, total, _CHUNK):
            batch = all_words(letters, length, start, start + _CHUNK)
            somewhere = np.bitwise_or.reduce(evaluate(differ, batch), axis=0)
            if somewhere.any():
                found = unpack(somewhere[None], batch.count)[:, 0]
                number = start + int(found.argmax())
                if found.any():
                    return _word(letters, length, number)
    return None


def _formula(given: Formula | str) -> Formula:
    if isinstance(given, Formula):
        return given
    return parse(given)  # which refuses what is no text


def _letters(
    f: Formula,
    g: Formula,
    alphabet: Iterable[str] | None,
    propositions: Iterable[str] | None,
) -> Sequence[str] | Sequence[frozenset[str]]:
    """One letter for each way in which the formulas can tell symbols apart, in order."""
    named = symbols_of(f, g)
    if propositions is not None:
        if alphabet is not None:
            raise SofthatError("words have an alphabet or propositions, not both")
        given = _names(propositions, "propositions")
        _check(named, given, "propositions")
        # A proposition that neither mentions changes nothing: it is false throughout.
        sets = [frozenset[str]()]
        for name in reversed([name for name in given if name in named]):
            sets += [letter | {name} for letter in sets]
        return sets
    if alphabet is None:
        return named or ["a"]
    symbols = _names(alphabet, "alphabet")
    if not symbols:
        raise SofthatError("the alphabet is empty: give at least one symbol")
    _check(named, symbols, "alphabet")
    others = [symbol for symbol in symbols if symbol not in named][:1]
    return [symbol for symbol in symbols if symbol in named or symbol in others]


def _names(given: Iterable[str], kind: str) -> list[str]:
    if not isinstance(given, Iterable):
        raise SofthatError(f"the {kind} must be text or a list of strings, not {given!r}")
    return list(dict.fromkeys(given))


def _check(named: list[str], known: list[str], kind: str) -> None:
    for name in named:
        if name not in known:
            raise SofthatError(f"the formulas mention {name!r}, which is not in the {kind}")


def _word(letters: Sequence[str] | Sequence[frozenset[str]], length: int, number: int) -> Word:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, len(letters))
        digits.append(digit)
    word = [letters[digit] for digit in reversed(digits)]
    if all(isinstance(letter, str) and len(letter) == 1 for letter in letters):
        return "".join(word)  # type: ignore[arg-type]
    return [set(letter) if isinstance(letter, frozenset) else letter for letter in word]  # type: ignore[return-value]
