"""The formula language as immutable values: what can be said about a word.

A `Formula` is true or false at every position of a word; a `Term` is an integer there. Both are
nodes (`node`), and this module has the kinds of both (`formulas`, `terms`) and the functions that
begin a formula.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from softhat.logic.syntax.formulas import (
    FALSE,
    FIRST,
    LAST,
    TRUE,
    Always,
    AlwaysWithin,
    And,
    At,
    Binary,
    BinaryWindow,
    Comparison,
    Constant,
    Digit,
    Digits,
    Eventually,
    EventuallyWithin,
    First,
    Formula,
    Historically,
    HistoricallyWithin,
    Iff,
    Implies,
    Last,
    Mod,
    Not,
    Once,
    OnceWithin,
    Or,
    Recall,
    Relation,
    Release,
    Since,
    SinceWithin,
    StrongRelease,
    Symbol,
    Tomorrow,
    Triggered,
    Unary,
    UnaryWindow,
    Until,
    UntilWithin,
    WeakTomorrow,
    WeakUntil,
    WeakYesterday,
    Window,
    Xor,
    Yesterday,
    bounds_text,
    checked_formula,
    recall,
)
from softhat.logic.syntax.node import Node
from softhat.logic.syntax.terms import (
    Count,
    CountAll,
    CountFuture,
    Counting,
    Difference,
    Integer,
    Length,
    Position,
    Scale,
    Sum,
    Term,
    length,
    position,
)
from softhat.numbers.predicates import define, named

__all__ = [
    "FALSE",
    "FIRST",
    "LAST",
    "TRUE",
    "Always",
    "AlwaysWithin",
    "And",
    "At",
    "Binary",
    "BinaryWindow",
    "Comparison",
    "Constant",
    "Count",
    "CountAll",
    "CountFuture",
    "Counting",
    "Difference",
    "Digit",
    "Digits",
    "Eventually",
    "EventuallyWithin",
    "First",
    "Formula",
    "Historically",
    "HistoricallyWithin",
    "Iff",
    "Implies",
    "Integer",
    "Last",
    "Length",
    "Mod",
    "Node",
    "Not",
    "Once",
    "OnceWithin",
    "Or",
    "Position",
    "Recall",
    "Relation",
    "Release",
    "Scale",
    "Since",
    "SinceWithin",
    "StrongRelease",
    "Sum",
    "Symbol",
    "Term",
    "Tomorrow",
    "Triggered",
    "Unary",
    "UnaryWindow",
    "Until",
    "UntilWithin",
    "WeakTomorrow",
    "WeakUntil",
    "WeakYesterday",
    "Window",
    "Xor",
    "Yesterday",
    "all_of",
    "any_of",
    "bounds_text",
    "count",
    "count_all",
    "count_future",
    "length",
    "position",
    "predicate",
    "recall",
    "symbol",
]


def symbol(name: str) -> Symbol:
    """The formula that the symbol (or proposition) `name` stands at the position."""
    return Symbol(name)


def count(formula: Formula) -> Count:
    """`#(f)`: how many positions up to and including this one satisfy `formula`."""
    return Count(checked_formula(formula))


def count_future(formula: Formula) -> CountFuture:
    """`#>(f)`: how many positions from this one on satisfy `formula`."""
    return CountFuture(checked_formula(formula))


def count_all(formula: Formula) -> CountAll:
    """`#*(f)`: how many positions of the whole word satisfy `formula`."""
    return CountAll(checked_formula(formula))


def predicate(name: str, given: Any = None) -> At:
    """`at(name)`: a built-in numerical predicate, one that is bound later, or what is given.

    Given are bits such as "0110(01)", a list of bits, or a function of i or of i and n.
    """
    return At(named(name) if given is None else define(name, given))


def all_of(formulas: Iterable[Formula]) -> Formula:
    """`f & g & …` in their order; true if there is none."""
    parts = list(formulas)
    return reduce(And, parts) if parts else TRUE


def any_of(formulas: Iterable[Formula]) -> Formula:
    """`f | g | …` in their order; false if there is none."""
    parts = list(formulas)
    return reduce(Or, parts) if parts else FALSE
