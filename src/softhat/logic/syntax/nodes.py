"""The formula language as immutable values: what can be said about a word.

A `Formula` is true or false at every position of a word; a `Term` is an integer there. Both are
nodes (`node`), and this module has the kinds of both (`formulas`, `terms`) and the functions that
begin a formula.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from softhat.logic.syntax.formulas import FALSE as FALSE
from softhat.logic.syntax.formulas import FIRST as FIRST
from softhat.logic.syntax.formulas import LAST as LAST
from softhat.logic.syntax.formulas import TRUE as TRUE
from softhat.logic.syntax.formulas import Always as Always
from softhat.logic.syntax.formulas import AlwaysWithin as AlwaysWithin
from softhat.logic.syntax.formulas import And as And
from softhat.logic.syntax.formulas import At as At
from softhat.logic.syntax.formulas import Binary as Binary
from softhat.logic.syntax.formulas import BinaryWindow as BinaryWindow
from softhat.logic.syntax.formulas import Comparison as Comparison
from softhat.logic.syntax.formulas import Constant as Constant
from softhat.logic.syntax.formulas import Digit as Digit
from softhat.logic.syntax.formulas import Digits as Digits
from softhat.logic.syntax.formulas import Eventually as Eventually
from softhat.logic.syntax.formulas import EventuallyWithin as EventuallyWithin
from softhat.logic.syntax.formulas import First as First
from softhat.logic.syntax.formulas import Formula as Formula
from softhat.logic.syntax.formulas import Historically as Historically
from softhat.logic.syntax.formulas import HistoricallyWithin as HistoricallyWithin
from softhat.logic.syntax.formulas import Iff as Iff
from softhat.logic.syntax.formulas import Implies as Implies
from softhat.logic.syntax.formulas import Last as Last
from softhat.logic.syntax.formulas import Mod as Mod
from softhat.logic.syntax.formulas import Not as Not
from softhat.logic.syntax.formulas import Once as Once
from softhat.logic.syntax.formulas import OnceWithin as OnceWithin
from softhat.logic.syntax.formulas import Or as Or
from softhat.logic.syntax.formulas import Recall as Recall
from softhat.logic.syntax.formulas import Relation as Relation
from softhat.logic.syntax.formulas import Release as Release
from softhat.logic.syntax.formulas import Since as Since
from softhat.logic.syntax.formulas import SinceWithin as SinceWithin
from softhat.logic.syntax.formulas import StrongRelease as StrongRelease
from softhat.logic.syntax.formulas import Symbol as Symbol
from softhat.logic.syntax.formulas import Tomorrow as Tomorrow
from softhat.logic.syntax.formulas import Triggered as Triggered
from softhat.logic.syntax.formulas import Unary as Unary
from softhat.logic.syntax.formulas import UnaryWindow as UnaryWindow
from softhat.logic.syntax.formulas import Until as Until
from softhat.logic.syntax.formulas import UntilWithin as UntilWithin
from softhat.logic.syntax.formulas import WeakTomorrow as WeakTomorrow
from softhat.logic.syntax.formulas import WeakUntil as WeakUntil
from softhat.logic.syntax.formulas import WeakYesterday as WeakYesterday
from softhat.logic.syntax.formulas import Window as Window
from softhat.logic.syntax.formulas import Xor as Xor
from softhat.logic.syntax.formulas import Yesterday as Yesterday
from softhat.logic.syntax.formulas import bounds_text as bounds_text
from softhat.logic.syntax.formulas import checked_formula
from softhat.logic.syntax.formulas import recall as recall
from softhat.logic.syntax.node import Node as Node
from softhat.logic.syntax.terms import Count as Count
from softhat.logic.syntax.terms import CountAll as CountAll
from softhat.logic.syntax.terms import CountFuture as CountFuture
from softhat.logic.syntax.terms import Counting as Counting
from softhat.logic.syntax.terms import Difference as Difference
from softhat.logic.syntax.terms import Integer as Integer
from softhat.logic.syntax.terms import Length as Length
from softhat.logic.syntax.terms import Position as Position
from softhat.logic.syntax.terms import Scale as Scale
from softhat.logic.syntax.terms import Sum as Sum
from softhat.logic.syntax.terms import Term as Term
from softhat.logic.syntax.terms import length as length
from softhat.logic.syntax.terms import position as position
from softhat.numbers.predicates import define, named


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
