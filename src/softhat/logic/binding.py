"""What the names in `at(name)` mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from softhat.io.errors import SofthatError
from softhat.logic.predicates import predicates_of
from softhat.logic.syntax.nodes import At, Formula, Node
from softhat.logic.syntax.walk import contains, rebuild, rewritten
from softhat.numbers.definitions import define, tabulated
from softhat.numbers.predicates import Predicate, Unbound, unknown


def bind(formula: Formula, predicates: Mapping[str, Any]) -> Formula:
    """The formula with numerical predicates for the names that have none yet."""
    if not isinstance(predicates, Mapping):
        raise SofthatError(f"predicates must be a mapping from names, not {predicates!r}")
    known = {name: define(name, definition) for name, definition in predicates.items()}

    def step(node: Node, below: tuple[Node, ...]) -> Node:
        match node:
            case At(Unbound(name)) if name in known:
                return At(known[name])
        return rebuild(node, below)

    return rewritten(formula, step)


def bound(
    formulas: Mapping[str, Formula], predicates: Mapping[str, Any] | None, length: int
) -> dict[str, Formula]:
    """The formulas with a meaning for every `at(name)`, the same one wherever a name occurs;
    functions are tables for words of at most `length` symbols."""
    closed = {name: with_tables(f.bind(predicates), length) for name, f in formulas.items()}
    predicates_of(*closed.values())  # which refuses a name with two meanings
    return closed


def with_tables(formula: Formula, length: int) -> Formula:
    """The formula with functions as tables for words of at most `length` symbols: storable."""
    if not contains(formula, At):
        return formula
    tables: dict[Predicate, At] = {}

    def step(node: Node, below: tuple[Node, ...]) -> Node:
        match node:
            case At(Unbound(name)):
                raise unknown(name)
            case At(predicate):
                if predicate not in tables:
                    tables[predicate] = At(tabulated(predicate, length))
                return tables[predicate]
        return rebuild(node, below)

    return rewritten(formula, step)


def predicates_file(*formulas: Formula) -> dict[str, bytes]:
    """`predicates.json`, if there are any: what the names in `formula.txt` mean."""
    from softhat.io.files import json_bytes  # who only reads formulas needs no files

    predicates = predicates_of(*formulas)
    if not predicates:
        return {}
    return {
        "predicates.json": json_bytes([predicate.to_json() for predicate in predicates.values()])
    }
