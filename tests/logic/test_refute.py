"""What random words refute is no implication, and an implication by form is never refuted."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given

from softhat.logic import refute
from softhat.logic.optimise import entail
from softhat.logic.random import random_formula
from softhat.logic.syntax.nodes import FALSE, TRUE, And, Formula, Not, Or
from softhat.logic.syntax.parse import parse
from tests.logic import oracle
from tests.logic.strategies import formulas
from tests.slices import examples

SLOW = examples(60, suppress_health_check=list(HealthCheck), deadline=None)


def words_of_the_row(symbols: str) -> list[list[frozenset[str]]]:
    row = refute._TAPE
    held = {name: row.to_bools(refute.signal(parse(name))).tolist() for name in symbols}
    ends = [*row.begins.tolist(), sum(row.lengths.tolist())]
    return [
        [frozenset(name for name in symbols if held[name][at]) for at in range(start, end)]
        for start, end in pairwise(ends)
    ]


def test_signals_are_truth_by_definition() -> None:
    rng = np.random.default_rng(3)
    words = words_of_the_row("ab")
    for k in range(24):
        formula = random_formula(rng, 2 + k % 9, "ab", "star-free")
        found = refute._TAPE.to_bools(refute.signal(formula)).tolist()
        assert found == [v for word in words for v in oracle.truth(formula, word)], formula


@SLOW
@given(formulas("ab", 9), formulas("ab", 9))
def test_nothing_that_follows_by_form_is_lost(f: Formula, g: Formula) -> None:
    pairs = [(f, g), (And(f, g), f), (f, Or(g, f)), (Not(f), Not(And(g, f)))]
    found = [entail.Look().entails(x, y) for x, y in pairs]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entail, "refuted", lambda f, g: False)
        assert found == [entail.Look().entails(x, y) for x, y in pairs]


def test_a_comparison_and_its_negation_are_opposite() -> None:
    for one, other in (("<", ">="), ("<=", ">"), ("=", "!=")):
        f, g = parse(f"#(a) {one} 3"), parse(f"#(a) {other} 3")
        assert not refute.together(f, g)
        assert not refute.neither(f, g)


def test_constants_and_chains() -> None:
    assert refute.refuted(TRUE, FALSE)
    assert not refute.refuted(FALSE, TRUE)
    f, g = parse("Y " * 40 + "a"), parse("Y " * 39 + "a")
    assert refute.refuted(f, g)
    assert refute.refuted(g, f)
    assert refute.together(f, g)
    assert refute.neither(f, g)
