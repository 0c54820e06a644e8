"""The schematic laws that the checker relies on, one table: (name, left, right).

`f` and `g` stand for any formulas, and both sides are true at the same positions of every word. The
first part defines the operators that the checker has no other meaning for (`claims` reads it), the
second are the normal forms of `atoms`, the third the recurrences of `every_word`. The same table,
with the same names, is proved in Coq: `every_law` of `proofs/Laws.v`.
"""

from __future__ import annotations

from dataclasses import dataclass

from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import (
    FIRST,
    LAST,
    TRUE,
    And,
    Formula,
    Node,
    Not,
    Or,
    Since,
    Symbol,
    Tomorrow,
    Until,
    Yesterday,
)
from softhat.logic.syntax.walk import Distinct, distinct


@dataclass(frozen=True, slots=True)
class Equivalence:
    """`left` and `right` are true at the same positions, whatever `f` and `g` are."""

    name: str
    left: Formula
    right: Formula


F, G = Symbol("f"), Symbol("g")
DEFINITIONS = (
    Equivalence("implies", nodes.Implies(F, G), Or(Not(F), G)),
    Equivalence("iff", nodes.Iff(F, G), Not(nodes.Xor(F, G))),
    Equivalence("weak_yesterday", nodes.WeakYesterday(F), Not(Yesterday(Not(F)))),
    Equivalence("weak_tomorrow", nodes.WeakTomorrow(F), Not(Tomorrow(Not(F)))),
    Equivalence("once", nodes.Once(F), Since(TRUE, F)),
    Equivalence("historically", nodes.Historically(F), Not(Since(TRUE, Not(F)))),
    Equivalence("triggered", nodes.Triggered(F, G), Not(Since(Not(F), Not(G)))),
    Equivalence("eventually", nodes.Eventually(F), Until(TRUE, F)),
    Equivalence("always", nodes.Always(F), Not(Until(TRUE, Not(F)))),
    Equivalence("release", nodes.Release(F, G), Not(Until(Not(F), Not(G)))),
    Equivalence("weak_until", nodes.WeakUntil(F, G), Not(Until(Not(G), And(Not(F), Not(G))))),
    Equivalence("strong_release", nodes.StrongRelease(F, G), Until(G, And(F, G))),
)
NORMAL_FORMS = (
    Equivalence("since_apart", Since(F, G), Since(And(F, Not(G)), G)),
    Equivalence("until_apart", Until(F, G), Until(And(F, Not(G)), G)),
    Equivalence("yesterday_not", Yesterday(Not(F)), And(Not(FIRST), Not(Yesterday(F)))),
    Equivalence("tomorrow_not", Tomorrow(Not(F)), And(Not(LAST), Not(Tomorrow(F)))),
    Equivalence("yesterday_true", Yesterday(TRUE), Not(FIRST)),
    Equivalence("tomorrow_true", Tomorrow(TRUE), Not(LAST)),
)
RECURRENCES = (
    Equivalence("since_step", Since(F, G), Or(G, And(F, Yesterday(Since(F, G))))),
    Equivalence("until_step", Until(F, G), Or(G, And(F, Tomorrow(Until(F, G))))),
)
LAWS = (*DEFINITIONS, *NORMAL_FORMS, *RECURRENCES)

DEFINED: dict[type[Node], tuple[Distinct, int]] = {}
"""For each operator that a law defines, the right side: its nodes in order, and its top."""
for _law in DEFINITIONS:
    _rows, (_top,) = distinct(_law.right)
    DEFINED[type(_law.left)] = (_rows, _top)
