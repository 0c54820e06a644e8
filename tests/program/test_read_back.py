"""Programs as formulas: the same truth as the program, and decided to be the formula compiled."""

from __future__ import annotations

import numpy as np
import pytest

from softhat.logic.random import random_formula
from softhat.logic.syntax.parse import parse
from softhat.models.compiler import compile
from softhat.models.verification.proved import is_proved
from softhat.program.read_back import read_back
from tests.cases import CASES as ALL
from tests.cases import Case
from tests.slices import every

CASES = [case for case in ALL if case.name != "huge weights"]  # which no weights can hold


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_formulas_of_programs(case: Case) -> None:
    kind = "propositions" if case.propositional else "alphabet"
    model = compile(parse(case.formula), **{kind: case.alphabet})
    found = read_back(model.program)
    assert found is not None
    for word in case.words(40, 20):
        assert (found["output"].truth(word) == model.formulas["output"].truth(word)).all()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_programs_are_proved_to_be_their_formulas(case: Case) -> None:
    kind = "propositions" if case.propositional else "alphabet"
    model = compile(parse(case.formula), **{kind: case.alphabet})
    assert is_proved(model.program, model.formulas)


@pytest.mark.parametrize("seed", every(3, range(20)))
def test_random_formulas(seed: int) -> None:
    rng = np.random.default_rng([5, seed])
    formula = random_formula(rng, 14, "ab", ("past", "future", "two-way")[seed % 3])
    model = compile(formula, "ab")
    assert is_proved(model.program, model.formulas)


def test_a_wrong_formula_is_not_proved() -> None:
    model = compile("a S b", "ab")
    assert is_proved(model.program, {"output": parse("b | a & Y (a S b)")})
    assert not is_proved(model.program, {"output": parse("a S (b & Y a)")})
    assert not is_proved(model.program, {"other": parse("a S b")})
