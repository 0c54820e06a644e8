"""Plans: operands before operators, nothing used after it was dropped, nothing kept for long."""

from __future__ import annotations

from hypothesis import given

from softhat import parse
from softhat.logic.semantics.plan import plan, planned
from softhat.logic.syntax.nodes import Formula
from tests.logic.strategies import formulas


@given(formulas(), formulas())
def test_values_are_there_when_they_are_used(f: Formula, g: Formula) -> None:
    made = planned((f, g))
    alive: set[int] = set()
    dropped: set[int] = set()
    for at, (_, places, form) in enumerate(made.steps):
        assert all(place in alive for place in places if place >= 0)
        if form is not None:
            assert len(places) == len(form.operands)
        alive.add(at)
        gone = set(made.dead[at])
        assert gone <= alive and not gone & dropped
        alive -= gone
        dropped |= gone
    assert alive == set(made.results)
    assert [made.steps[at][0] for at in made.results] == [f, g]


def test_a_chain_needs_a_few_values_only() -> None:
    formula = parse("Y " * 500 + "a")
    made = planned((formula,))
    alive = most = 0
    for gone in made.dead:
        alive += 1
        most = max(most, alive)
        alive -= len(gone)
    assert most <= 3 and len(made.steps) == 501


def test_plans_are_kept() -> None:
    f = parse("a S b & #(a) > 2")
    assert plan((f,)) is plan((f,)) and plan((f,)) == planned((f,))
