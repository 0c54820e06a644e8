"""Formulas in LaTeX: written out by hand, and balanced whatever the formula is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

import softhat
from softhat.logic.syntax.latex import to_latex
from softhat.logic.syntax.nodes import Formula
from tests.logic.strategies import formulas
from tests.slices import examples


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("!c S a", r"\lnot \mathtt{c} \mathbin{\mathbf{S}} \mathtt{a}"),
        ("Y a & true", r"\mathbf{Y}\,\mathtt{a} \land \top"),
        ("F (2*#(a) = #*(a))", r"\mathbf{F}\,2 \overleftarrow{\#}(\mathtt{a}) = "
         r"\overleftrightarrow{\#}(\mathtt{a})"),
        ("'a b' -> x_1", r"\mathtt{a\ b} \rightarrow \mathtt{x\_1}"),
        ("mod(3, 1) | last", r"\mathrm{mod}(3, 1) \lor \mathrm{last}"),
        ("i >= n - 3", r"i \geq n - 3"),
    ],
)  # fmt: skip
def test_by_hand(text: str, latex: str) -> None:
    assert softhat.parse(text).latex() == latex


@given(formulas("abc"))
@examples(60, deadline=None)
def test_braces_are_balanced(formula: Formula) -> None:
    text = re.sub(r"\\[{}]", "", to_latex(formula))
    depth = 0
    for char in text:
        depth += (char == "{") - (char == "}")
        assert depth >= 0
    assert depth == 0
