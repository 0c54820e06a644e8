"""Truth before the first symbol: operators that look back find nothing."""

from __future__ import annotations

import pytest
from hypothesis import given

from softhat import parse
from softhat.logic.semantics.empty import at_empty_prefix
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from tests.logic.strategies import formulas


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("a", False), ("!a", True), ("true", True), ("first", False),
        ("Y a", False), ("Y true", False), ("Z a", True), ("Z false", True),
        ("O true", False), ("H false", True), ("true S true", False), ("false T false", True),
        ("#(a) = 0", True), ("#(true) >= 1", False), ("i = 0", True), ("2*i + 3 > 2", True),
        ("mod(3, 0)", True), ("mod(3, 1)", False), ("a -> b", True), ("a <-> b", True),
        ("a xor true", True), ("O a | !O a", True), ("#(a) - #(b) < 0", False),
    ],
)  # fmt: skip
def test_examples(text: str, truth: bool) -> None:
    assert at_empty_prefix(parse(text)) == truth


@given(formulas())
def test_laws_of_negation(formula: Formula) -> None:
    """Duals stay duals, and gates are gates."""
    value = at_empty_prefix(formula)
    assert at_empty_prefix(nodes.Not(formula)) == (not value)
    assert at_empty_prefix(nodes.Or(formula, nodes.Not(formula)))
    assert at_empty_prefix(nodes.Not(nodes.Once(nodes.Not(formula)))) == at_empty_prefix(
        nodes.Historically(formula)
    )
