"""Formulas that share much are written with definitions: `x1 := a S b; Y x1 & !x1`.

As a tree such a formula may have more nodes than any file could hold, while its distinct nodes
are few. A definition names a formula for all that follows it; names are free identifiers that
are no symbols of the formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from softhat.io.errors import FormulaError
from softhat.logic.syntax.nodes import Formula, Node, Symbol
from softhat.logic.syntax.tokens import IDENTIFIER, RESERVED
from softhat.logic.syntax.walk import distinct, rebuild, rewritten

_PIECE = re.compile(r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|//[^\n]*|[^;])*""", re.DOTALL)
_NAMED = re.compile(r"(?P<before>\s*(?P<name>[^\s:]*)\s*:=)", re.DOTALL)


def shared(root: Formula) -> tuple[list[tuple[str, Formula]], Formula]:
    """Definitions of the subformulas that occur more than once, and the formula over them."""
    rows, (at,) = distinct(root)
    uses = [0] * len(rows)
    for _, places in rows:
        for place in places:
            uses[place] += 1
    taken = {node.name for node, _ in rows if isinstance(node, Symbol)}
    definitions: list[tuple[str, Formula]] = []
    short: list[Node] = []
    number = 0
    for k, (node, places) in enumerate(rows):
        body = rebuild(node, [short[place] for place in places])
        if uses[k] > 1 and isinstance(body, Formula) and places and k != at:
            number += 1
            while f"x{number}" in taken:
                number += 1
            definitions.append((f"x{number}", body))
            body = Symbol(f"x{number}")
        short.append(body)
    result = short[at]
    assert isinstance(result, Formula)
    return definitions, result


def has_definitions(text: str) -> bool:
    return isinstance(text, str) and ":=" in text and ";" in text


def read_definitions(text: str, read: Callable[[str, Collection[str]], Formula]) -> Formula:
    """The formula of a text with definitions; `read(piece, names defined before)` reads a piece."""
    known: dict[str, Formula] = {}
    at = 0
    while True:
        piece = _PIECE.match(text, at)
        assert piece is not None  # it matches the empty text too
        end = piece.end()
        if end == len(text):
            return _read(text, at, end, known, read)
        named = _NAMED.match(text, at, end)
        if named is None:
            raise FormulaError("expected a definition `name := formula;` before this", end, text)
        name = named["name"]
        if not IDENTIFIER.fullmatch(name) or name in RESERVED or name in known:
            why = "has been defined" if name in known else "is no free name"
            raise FormulaError(f"{name or 'nothing'} {why}", named.start("name"), text)
        known[name] = _read(text, named.end(), end, known, read)
        at = end + 1


def _read(
    text: str,
    start: int,
    end: int,
    known: dict[str, Formula],
    read: Callable[[str, Collection[str]], Formula],
) -> Formula:
    try:
        formula = read(text[start:end], known.keys())
    except FormulaError as error:
        fault = FormulaError(error.message, start + error.position, text)
    else:
        return _inserted(formula, known)
    raise fault


def _inserted(formula: Formula, known: dict[str, Formula]) -> Formula:
    def step(node: Node, below: tuple[Node, ...]) -> Node:
        if isinstance(node, Symbol) and node.name in known:
            return known[node.name]
        return rebuild(node, below)

    return rewritten(formula, step)
