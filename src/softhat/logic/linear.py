"""Comparisons as linear inequalities between counts.

Every comparison says something about a sum `Σ a_k·count_k + c`. The counts are of three kinds,
one for each mask of an attention head: past (j <= i), future (j >= i) and total (all j). The
position `i` is the past count of `true`, the length `n` its total count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import FALSE, TRUE, Comparison, Formula, Term

Weighted = tuple[tuple[int, Formula], ...]
_TURNED: dict[nodes.Relation, nodes.Relation] = {
    "<": ">",
    "<=": ">=",
    "=": "=",
    "!=": "!=",
    ">=": "<=",
    ">": "<",
}


@dataclass(frozen=True, slots=True)
class LinearForm:
    """`Σ a·#(f) + Σ a·#>(f) + Σ a·#*(f) + constant`, no formula twice in a sum, no a = 0."""

    past: Weighted
    future: Weighted
    total: Weighted
    constant: int

    @property
    def terms(self) -> Weighted:
        """All weighted counts."""
        return self.past + self.future + self.total

    @property
    def operands(self) -> tuple[Formula, ...]:
        """What is counted."""
        return tuple(formula for _, formula in self.terms)

    def scaled(self, factor: int) -> LinearForm:
        return self._map(lambda a: factor * a)

    def divided(self) -> LinearForm:
        """Divided by the common factor of the weights, the constant rounded down."""
        factor = math.gcd(*(a for a, _ in self.terms))
        return self if factor <= 1 else self._map(lambda a: a // factor)

    def shifted(self, constant: int) -> LinearForm:
        return replace(self, constant=self.constant + constant)

    def _map(self, change: Callable[[int], int]) -> LinearForm:
        past, future, total = (
            tuple((change(a), formula) for a, formula in part)
            for part in (self.past, self.future, self.total)
        )
        return LinearForm(past, future, total, change(self.constant))


def difference(comparison: Comparison) -> LinearForm:
    """`left - right` as a linear form."""
    coefficient = _coefficients(comparison)
    sums: dict[type[Term], dict[Formula, int]] = {
        nodes.Count: {},
        nodes.CountFuture: {},
        nodes.CountAll: {},
    }
    constant = 0
    for term, a in coefficient:
        match term:
            case nodes.Integer(value):
                constant += a * value
            case nodes.Position():
                _add(sums[nodes.Count], TRUE, a)
            case nodes.Length():
                _add(sums[nodes.CountAll], TRUE, a)
            case nodes.Counting(operand):
                _add(sums[type(term)], operand, a)
    past, future, total = (_weighted(part.items()) for part in sums.values())
    return LinearForm(past, future, total, constant)


def linear(comparison: Comparison) -> LinearForm:
    """The form that is >= 0 exactly where the inequality holds, divided by its common factor."""
    return as_inequality(difference(comparison), comparison.relation)


def as_inequality(form: LinearForm, relation: nodes.Relation) -> LinearForm:
    """The form that is >= 0 exactly where `form ⋈ 0` holds, divided by its common factor."""
    match relation:
        case ">=":
            pass
        case ">":
            form = form.shifted(-1)
        case "<=":
            form = form.scaled(-1)
        case "<":
            form = form.scaled(-1).shifted(-1)
        case _:
            raise ValueError(f"{relation} is two inequalities: to_core makes them")
    # g·x + c >= 0 iff x + floor(c / g) >= 0 for integers x: smaller numbers certify further.
    return form.divided()


def to_comparison(form: LinearForm, relation: nodes.Relation = ">=") -> Comparison:
    """`Σ a·count ⋈ -constant` as a formula: the core form of a comparison."""
    term: Term | None = None
    for kind, part in _by_kind(form):
        for a, formula in part:
            term = plus(term, a, measure(kind, formula))
    if term is None:
        term = nodes.Integer(0)
    return Comparison(term, relation, nodes.Integer(-form.constant))


def to_balanced(form: LinearForm, relation: nodes.Relation) -> Comparison:
    """`form ⋈ 0` without negative numbers: what is subtracted goes to the other side. The form
    counts something: what does not is decided."""
    assert form.terms
    left: Term | None = None
    right: Term | None = None
    for kind, part in _by_kind(form):
        for a, formula in part:
            if a > 0:
                left = plus(left, a, measure(kind, formula))
            else:
                right = plus(right, -a, measure(kind, formula))
    if left is None:  # a constant alone would stand on the left: turn it round
        return to_balanced(form.scaled(-1), _TURNED[relation])
    if right is None:
        return Comparison(left, relation, nodes.Integer(-form.constant))
    if form.constant > 0:
        left = nodes.Sum(left, nodes.Integer(form.constant))
    elif form.constant < 0:
        right = nodes.Sum(right, nodes.Integer(-form.constant))
    return Comparison(left, relation, right)


def size_of_terms(comparison: Comparison) -> int:
    """How many term nodes it has, without what is counted."""
    return len(_below(comparison.left, comparison.right))


def _by_kind(form: LinearForm) -> Iterable[tuple[type[nodes.Counting], Weighted]]:
    yield nodes.Count, form.past
    yield nodes.CountFuture, form.future
    yield nodes.CountAll, form.total


def measure(kind: type[nodes.Counting], formula: Formula) -> Term:
    """How many positions of a range satisfy a formula, as it is written: `i` for `#(true)`."""
    if formula == TRUE and kind is not nodes.CountFuture:
        return nodes.position if kind is nodes.Count else nodes.length
    return kind(formula)


def plus(sum_: Term | None, a: int, term: Term) -> Term:
    """`sum + a*term`, as it is written."""
    if sum_ is None:
        return term if a == 1 else nodes.Scale(a, term)
    part = term if abs(a) == 1 else nodes.Scale(abs(a), term)
    return nodes.Sum(sum_, part) if a > 0 else nodes.Difference(sum_, part)


def _add(sums: dict[Formula, int], formula: Formula, a: int) -> None:
    if formula != FALSE:
        sums[formula] = sums.get(formula, 0) + a


def _weighted(items: Iterable[tuple[Formula, int]]) -> Weighted:
    return tuple((a, formula) for formula, a in items if a)


def _coefficients(comparison: Comparison) -> list[tuple[Term, int]]:
    """The factor with which each leaf term enters `left - right`, in order of appearance.

    Parents before children: each term is met once, when its whole factor is known, so deep and
    shared terms take linear time.
    """
    order = _below(comparison.left, comparison.right)
    factor = {id(term): 0 for term in order}
    factor[id(comparison.left)] += 1
    factor[id(comparison.right)] -= 1
    leaves = []
    for term in reversed(order):
        a = factor[id(term)]
        match term:
            case nodes.Sum(left, right):
                factor[id(left)] += a
                factor[id(right)] += a
            case nodes.Difference(left, right):
                factor[id(left)] += a
                factor[id(right)] -= a
            case nodes.Scale(k, inner):
                factor[id(inner)] += k * a
            case _:
                leaves.append(term)
    leaves.reverse()
    return [(term, factor[id(term)]) for term in leaves]


def _below(*roots: Term) -> list[Term]:
    """All term objects, children before parents."""
    order: list[Term] = []
    done: set[int] = set()
    for root in roots:
        stack = [root]
        while stack:
            term = stack[-1]
            if id(term) in done:
                stack.pop()
                continue
            inner = () if isinstance(term, nodes.Counting) else term.children
            pending = [part for part in inner if isinstance(part, Term) and id(part) not in done]
            if pending:
                stack.extend(reversed(pending))
                continue
            stack.pop()
            done.add(id(term))
            order.append(term)
    return order
