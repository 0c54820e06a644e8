"""From text to formulas.

`grammar.lark` is the grammar, `tokens` its spelling, `machine` reads with it in linear time and
without recursion, however deep a formula is, and `complaints` has the words for what is wrong.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterator
from functools import cache
from itertools import islice
from typing import Any

from softhat.io.argument_types import texts
from softhat.io.errors import FormulaError, SofthatError
from softhat.logic.syntax import nodes
from softhat.logic.syntax.complaints import explain, remainder_of_length
from softhat.logic.syntax.decimals import to_integer
from softhat.logic.syntax.definitions import has_definitions, read_definitions
from softhat.logic.syntax.machine import END, ParseTable, UnexpectedError, machine_of, stored_tables
from softhat.logic.syntax.nodes import Formula, Node, Symbol, Term
from softhat.logic.syntax.signs import (
    CONSTANTS,
    COUNTS,
    PREFIX,
    TEMPORAL,
    TEMPORAL_WINDOWS,
    VARIABLES,
    WINDOWS,
)
from softhat.logic.syntax.tokens import SPELLINGS, classify, cut, tokenize


def parse(
    text: str,
    alphabet: Collection[str] | None = None,
    propositions: Collection[str] | None = None,
) -> Formula:
    """The formula that `text` spells.

    With an alphabet (or, for propositional words, propositions) every symbol must be one of it.
    """
    if alphabet is not None and propositions is not None:
        raise SofthatError("a formula has an alphabet or propositions, not both")
    if has_definitions(text):

        def piece(text: str, names: Collection[str]) -> Formula:
            return parse(
                text,
                None if alphabet is None else [*alphabet, *names],
                None if propositions is None else [*propositions, *names],
            )

        return read_definitions(text, piece)
    formula: Formula = read(Formula, text)
    known, kind = (alphabet, "alphabet") if alphabet is not None else (propositions, "propositions")
    if known is not None:
        check_symbols(text, texts(kind, known), kind)
    return formula


def read(kind: type[Node], text: str) -> Any:
    """The formula (`kind` is Formula) or counting term (`kind` is Term) that `text` spells."""
    if not isinstance(text, str):
        raise SofthatError(f"a formula is text, not {type(text).__name__}")
    start = "sum" if issubclass(kind, Term) else "formula"
    try:
        return _machine().read(start, _terminals(text))
    except UnexpectedError as error:
        fault = explain(text, error.index, error.expected)
    except _LocatedError as error:
        token = next(islice(tokenize(text), error.index, None))
        fault = FormulaError(error.message, token.start, text)
    # Raised here, without the other as its context: clusters pickle an error with its context.
    raise fault


def _terminals(text: str) -> Iterator[tuple[str, Any]]:
    """Kind and value of each terminal; equal symbols are one node."""
    known: dict[str, tuple[str, Any]] = dict(_VALUES)
    pieces = cut(text)
    for index, piece in enumerate(pieces):
        terminal = known.get(piece)
        if terminal is None:
            terminal = _terminal(piece, index, pieces[index + 1], text)
            if terminal[0] in ("SYMBOL", "INTEGER") and piece != "at":
                known[piece] = terminal
        yield terminal


def _terminal(piece: str, index: int, after: str, text: str) -> tuple[str, Any]:
    """The terminal of a piece whose meaning depends on its place, or that is met for the first
    time."""
    try:
        kind, value = classify(piece)
    except FormulaError:
        for _ in tokenize(text):  # says where it stands
            pass
        raise
    if piece == "at" and after == "(":
        return "AT", index
    match kind:
        case "SYMBOL":
            return kind, Symbol(value)
        case "MOD":
            return kind, index
        case "VARIABLE":
            return kind, (value, index)
    return kind, value


def check_symbols(text: str, known: Collection[str], kind: str) -> None:
    """Refuse the first symbol of `text` that is not `known`, with what was probably meant."""
    allowed = frozenset(known)
    before = ["", ""]  # the kinds of the two tokens before: `at(name)` names no symbol
    for token in tokenize(text):
        symbol = token.kind == "SYMBOL" and before != ["AT", "_OPEN"]
        before = [before[1], token.kind]
        if symbol and token.text not in allowed:
            raise FormulaError(
                f"{token.text} is not in the {kind}: {_meant(token.text, sorted(allowed))}",
                token.start,
                text,
            )


def _meant(name: str, known: list[str]) -> str:
    if len(name) < 100 and known:
        symbols = "|".join(re.escape(symbol) for symbol in sorted(known, key=len, reverse=True))
        operand = f"[YZOHXNFG]*(?:{symbols})"
        if re.fullmatch(f"{operand}(?:[STURWM]{operand})*", name):
            pieces = re.findall(f"{symbols}|[A-Z]", name)
            return f"if operators are meant, write {' '.join(pieces)}"
    near = difflib.get_close_matches(name[:100], known, n=1)
    if near:
        return f"did you mean {near[0]}?"
    listed = " ".join(known[:20]) + (" …" if len(known) > 20 else "")
    return f"expected one of {listed}" if known else "it is empty"


@cache
def _machine() -> ParseTable:
    """Made when the first formula is read."""
    return machine_of(stored_tables(), _BUILDERS)


def _mod(word: int, modulus: int, remainder: int) -> Formula:
    try:
        return nodes.Mod(modulus, remainder)
    except FormulaError as error:
        raise _LocatedError(error.message, word) from None


def _remainder(variable: tuple[str, int], modulus: int, relation: str, remainder: int) -> Formula:
    name, at = variable
    if name != "i":
        raise _LocatedError(remainder_of_length(modulus, remainder), at)
    if relation not in ("=", "!="):
        raise _LocatedError(
            f"i % m is compared by = and != only, as in i % 2 = 0, not by {relation}", at
        )
    holds = _mod(at, modulus, remainder)
    return holds if relation == "=" else nodes.Not(holds)


def _recall(word: str, value: Formula, code: nodes.Digit | nodes.Digits) -> Formula:
    if word != "last":
        raise FormulaError(f"only last takes brackets, as in last[v | k = q], not {word}")
    return nodes.Recall(value, code)


def _digit(key: Formula, relation: str, query: Formula) -> nodes.Digit:
    if relation != "=":
        raise FormulaError(
            f"keys and queries are compared by = only, as in last[v | k = q], not by {relation}"
        )
    return nodes.Digit(key, query)


def _window(operator: str, low: int, high: int, operand: Formula) -> Formula:
    if operator not in WINDOWS:
        raise FormulaError(f"{operator} takes no bounds: O H F G S U do, as in O[1,4] f")
    return WINDOWS[operator](low, high, operand)


def _temporal_window(left: Formula, operator: str, low: int, high: int, right: Formula) -> Formula:
    if operator not in TEMPORAL_WINDOWS:
        raise FormulaError(f"{operator} takes no bounds: O H F G S U do, as in f S[0,3] g")
    return TEMPORAL_WINDOWS[operator](low, high, left, right)


_BUILDERS: dict[str, Callable[..., Any] | None] = {
    "symbol": None,  # the terminal's value is the node
    "constant": CONSTANTS.__getitem__,
    "mod": _mod,
    "remainder": _remainder,
    "at": lambda _, symbol: nodes.predicate(symbol.name),
    "comparison": nodes.Comparison,
    "recall": _recall,
    "digits": nodes.Digits,
    "digit": _digit,
    "unary": lambda operator, operand: PREFIX[operator](operand),
    "window": _window,
    "temporal_window": _temporal_window,
    "temporal": lambda left, operator, right: TEMPORAL[operator](left, right),
    "conjunction": nodes.And,
    "disjunction": nodes.Or,
    "xor": nodes.Xor,
    "implies": nodes.Implies,
    "iff": nodes.Iff,
    "number": nodes.Integer,
    "scale": nodes.Scale,
    "plus": nodes.Sum,
    "minus": nodes.Difference,
    "variable": lambda variable: VARIABLES[variable[0]],
    "count": lambda kind, operand: COUNTS[kind](operand),
    "integer": to_integer,
    "negative": lambda digits: -to_integer(digits),
    "negate": lambda term: nodes.Scale(-1, term),
}
"""What each alias of the grammar makes of the parts that carry a value."""

_VALUES: dict[str, tuple[str, Any]] = {
    **{word: kind for word, kind in SPELLINGS.items() if kind[0] not in ("MOD", "VARIABLE")},
    "": (END, None),
}
"""Terminals that are the same wherever they stand."""


class _LocatedError(Exception):
    """A fault of the terminal `index`, found while building."""

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.message = message
        self.index = index
