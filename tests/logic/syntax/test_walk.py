"""Passes over formulas: each distinct node once, children first, and rows that can be read back."""

from __future__ import annotations

from hypothesis import given

from softhat import parse
from softhat.logic.syntax.nodes import And, Formula, Node, Not, Symbol
from softhat.logic.syntax.walk import distinct, fold, from_rows, rebuild, to_rows
from tests.logic.strategies import formulas


def parts(node: Node) -> list[Node]:
    """All nodes below, by recursion, repeats and all."""
    return [node, *(part for child in node.children for part in parts(child))]


@given(formulas(), formulas())
def test_distinct_nodes_are_all_nodes_once(f: Formula, g: Formula) -> None:
    rows, roots = distinct(f, g)
    found = [node for node, _ in rows]
    assert set(found) == {*parts(f), *parts(g)} and len(set(found)) == len(found)
    assert [found[at] for at in roots] == [f, g]
    for at, (node, places) in enumerate(rows):
        assert all(place < at for place in places)
        assert tuple(found[place] for place in places) == node.children


@given(formulas())
def test_folds_are_recursions(formula: Formula) -> None:
    size = fold(formula, lambda node, below: 1 + sum(below))
    assert size == len(parts(formula))
    depth = fold(formula, lambda node, below: 1 + max(below, default=0))

    def by_recursion(node: Node) -> int:
        return 1 + max(map(by_recursion, node.children), default=0)

    assert depth == by_recursion(formula)


@given(formulas())
def test_rows_are_read_back(formula: Formula) -> None:
    rows = to_rows(formula)
    assert from_rows(rows) == formula
    assert all(isinstance(kind, str) for kind, _, _ in rows)


@given(formulas())
def test_rebuilding_keeps_or_changes_the_children(formula: Formula) -> None:
    assert rebuild(formula, formula.children) is formula
    renamed = fold(
        formula,
        lambda node, below: (
            Symbol(f"{node.name}_") if isinstance(node, Symbol) else rebuild(node, below)
        ),
    )
    back = fold(
        renamed,
        lambda node, below: (
            Symbol(node.name[:-1]) if isinstance(node, Symbol) else rebuild(node, below)
        ),
    )
    assert back == formula


def test_a_shared_node_is_visited_once() -> None:
    visited: list[Node] = []
    a = parse("Y a")
    formula = And(Not(a), And(a, Not(parse("Y a"))))
    fold(formula, lambda node, below: visited.append(node))
    assert len(visited) == len(set(visited)) == 5
