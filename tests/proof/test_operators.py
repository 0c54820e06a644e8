"""The laws that the checker relies on hold by the definition of the operators, on words."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from softhat.logic.random import random_formula
from softhat.logic.syntax.nodes import Formula, Node, Symbol
from softhat.logic.syntax.walk import fold, rebuild
from softhat.proof.operators import DEFINITIONS, LAWS, Equivalence, F, G
from tests.logic.oracle import truth as by_definition

WORDS = ["".join(word) for n in range(1, 5) for word in product("ab", repeat=n)]


def instance(formula: Formula, f: Formula, g: Formula) -> Formula:
    given: dict[Node, Formula] = {F: f, G: g}

    def step(node: Node, below: tuple[Node, ...]) -> Node:
        return given[node] if node in given else rebuild(node, below)

    made = fold(formula, step)
    assert isinstance(made, Formula)
    return made


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_both_sides_are_true_at_the_same_positions(law: Equivalence) -> None:
    rng = np.random.default_rng(len(law.name))
    pairs = [(Symbol("a"), Symbol("b"))]
    pairs += [tuple(random_formula(rng, 4, "ab", "all") for _ in range(2)) for _ in range(6)]
    for f, g in pairs:
        left, right = instance(law.left, f, g), instance(law.right, f, g)
        for word in WORDS:
            assert by_definition(left, word) == by_definition(right, word), (left, right, word)


def test_every_law_has_a_name_of_its_own() -> None:
    assert len({law.name for law in LAWS}) == len(LAWS)
    assert len({type(law.left) for law in DEFINITIONS}) == len(DEFINITIONS)
