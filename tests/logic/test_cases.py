"""The shared table says what the formulas mean; both evaluators must agree with it."""

import pytest

from softhat import parse
from tests.cases import CASES, Case
from tests.logic import oracle


def test_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_formula_accepts_its_language(case: Case) -> None:
    if case.propositional:
        formula = parse(case.formula, propositions=case.alphabet)
    else:
        formula = parse(case.formula, alphabet=case.alphabet)
    for word in case.words(60, 20):
        assert formula.accepts(word, at=case.at) == case.accepts(word), word


@pytest.mark.parametrize("case", CASES[::4], ids=lambda case: case.name)
def test_oracle_agrees(case: Case) -> None:
    formula = parse(case.formula)
    for word in case.words(20, 12):
        assert formula.truth(word).tolist() == oracle.truth(formula, word)
