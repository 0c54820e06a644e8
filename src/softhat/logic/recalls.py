"""`last[v | k1 = q1, …]` by its definition: one `S` for each code.

    last[v | k = q, …] = ⋁ over codes c: (q = c) & (!(k = c) S (k = c & v))

The right side is what recall means; it has 2^digits parts, so only deciding uses it.
"""

from __future__ import annotations

from itertools import product

from softhat.io.errors import SofthatError
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import TRUE, And, Formula, Node, Not, Recall, Since
from softhat.logic.syntax.walk import contains, rebuild, rewritten

MOST_DIGITS = 10
"""1,024 parts."""


def without_recalls(formula: Formula) -> Formula:
    """The same formula, every recall by its definition."""
    if not contains(formula, Recall):
        return formula

    def step(node: Node, below: tuple[Node, ...]) -> Node:
        now = rebuild(node, below)
        return expanded(now) if isinstance(now, Recall) else now

    return rewritten(formula, step)


def expanded(recall: Recall) -> Formula:
    """What a recall means."""
    digits = [(k, q) for k, q in recall.digits if not isinstance(q, nodes.Constant)]
    fixed = [(k, q) for k, q in recall.digits if isinstance(q, nodes.Constant)]
    if len(digits) > MOST_DIGITS:
        raise SofthatError(
            f"a recall by {len(digits)} digits has 2^{len(digits)} cases, and deciding looks at "
            f"each: at most {MOST_DIGITS} digits"
        )
    always = [k if q == TRUE else Not(k) for k, q in fixed]
    cases = []
    for code in product((False, True), repeat=len(digits)):
        pairs = list(zip(digits, code, strict=True))
        asked = nodes.all_of(q if bit else Not(q) for (_, q), bit in pairs)
        held = nodes.all_of([*always, *(k if bit else Not(k) for (k, _), bit in pairs)])
        cases.append(And(asked, Since(Not(held), And(held, recall.value))))
    return nodes.any_of(cases)
