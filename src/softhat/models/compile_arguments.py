"""What a caller gives to `compile`, checked: the formulas by name, and the symbols of the words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from softhat.io.errors import SofthatError
from softhat.logic.fragments import describe
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from softhat.transformer.weights import RESERVED

OUTPUT = "output"
"""The name of the output of a model of one formula."""
_FORBIDDEN = frozenset(":\n\r")
"""In the name of an output: files separate it from its formula by a colon."""


def named_formulas(formula: Formula | str | Mapping[str, Formula | str]) -> dict[str, Formula]:
    """Formulas by the names of their outputs, parsed where they are text."""
    formulas = formula if isinstance(formula, Mapping) else {OUTPUT: formula}
    if not formulas:
        raise SofthatError("nothing to compile: give at least one formula")
    named = {}
    for name, value in formulas.items():
        if not isinstance(name, str) or not name or not _FORBIDDEN.isdisjoint(name):
            raise SofthatError(
                f"an output's name is a non-empty string without ':' or line breaks, not {name!r}"
            )
        if not _is_text(name):
            raise SofthatError(f"the output's name {name!r} is not text: no file can hold it")
        value = parse(value) if isinstance(value, str) else value
        if not isinstance(value, Formula):
            raise SofthatError(f"expected a formula for output {name!r}, got {value!r}")
        named[name] = value
    return named


def checked_symbols(
    formulas: Mapping[str, Formula],
    alphabet: str | Iterable[str] | None,
    propositions: Iterable[str] | None,
) -> tuple[str, ...]:
    """The symbols (or propositions) of the words: those given, else those that formulas name."""
    if alphabet is not None and propositions is not None:
        raise SofthatError("give an alphabet or propositions, not both")
    what = "alphabet" if propositions is None else "propositions"
    given = alphabet if propositions is None else propositions
    if given is None:
        used = {name for formula in formulas.values() for name in describe(formula).symbols}
        # A formula without symbols speaks of positions only: one symbol makes words.
        given = sorted(used) or ["a"]
    if not isinstance(given, Iterable):
        raise SofthatError(f"the {what} must be text or a list of strings, not {given!r}")
    symbols = tuple(given)
    if not symbols and propositions is None:
        raise SofthatError("the alphabet is empty: give at least one symbol")
    seen: set[str] = set()
    for symbol in symbols:
        check_symbol(symbol, what)
        if symbol in seen:
            raise SofthatError(f"duplicate in the {what}: {symbol!r}")
        seen.add(symbol)
    return symbols


def _is_text(text: str) -> bool:
    """Has it no half characters?"""
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


def check_symbol(symbol: object, what: str) -> None:
    """Refuse what no file can hold as a symbol, and the tokens that every model has."""
    if not isinstance(symbol, str) or not symbol:
        raise SofthatError(f"the {what} must be non-empty strings, not {symbol!r}")
    if not _is_text(symbol):
        raise SofthatError(f"{symbol!r} in the {what} is half a character: no file can hold it")
    if symbol in RESERVED:
        raise SofthatError(f"the symbol {symbol!r} is reserved for a sink or padding: rename it")
