"""Compiled models answer what the formula says, at every position, in every target."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from softhat.io.errors import SofthatError
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from softhat.models.compiler import compile
from tests.cases import CASES, Case
from tests.logic.oracle import truth as by_definition
from tests.logic.strategies import formulas as any_formula
from tests.slices import every, examples
from tests.transformer.lowering.suite import all_codes, expected, formulas, long_words

SUITE = formulas()
TARGETS = ("hard", "unbounded", "temperature")
SLICE = every(2, [*range(0, 50, 4), *range(50, len(SUITE), 16)])


def check(formula: Formula, alphabet: str, codes: np.ndarray, dtypes: tuple[str, ...]) -> None:
    want = expected(formula, codes, alphabet)
    for target in TARGETS:
        model = compile(formula, alphabet=alphabet, attention=target)
        for dtype in dtypes:
            got = model.run_batch(codes, dtype)[:, :, 0] > 0
            if not (got == want).all():
                word, place = np.argwhere(got != want)[0]
                text = "".join(alphabet[c] for c in codes[word])
                pytest.fail(f"{target} {dtype}: {formula} at {place} of {text}")


def exhaustive(formula: Formula, two: int, three: int) -> None:
    """All words over two and over three symbols, to these lengths."""
    for alphabet, longest in (("ab", two), ("abc", three)):
        for length in range(1, longest + 1):
            check(formula, alphabet, all_codes(len(alphabet), length), ("float32", "float64"))


def test_the_suite_is_large_enough() -> None:
    assert len(set(SUITE)) >= 300


@pytest.mark.parametrize("number", SLICE)
def test_all_short_words(number: int) -> None:
    exhaustive(SUITE[number], 8, 6)


@pytest.mark.full
@pytest.mark.parametrize("number", range(len(SUITE)))
def test_all_short_words_full(number: int) -> None:
    exhaustive(SUITE[number], 10, 7)


@pytest.mark.parametrize("number", SLICE)
def test_long_words(number: int) -> None:
    for length in (37, 300):
        check(SUITE[number], "ab", long_words(length, 2, number), ("float32",))


@pytest.mark.full
@pytest.mark.parametrize("number", range(len(SUITE)))
def test_words_of_length_1000(number: int) -> None:
    check(SUITE[number], "ab", long_words(1000, 2, number), ("float32", "float64"))


@pytest.mark.full
@pytest.mark.parametrize("number", range(0, len(SUITE), 15))
def test_words_of_length_5000(number: int) -> None:
    check(SUITE[number], "ab", long_words(5000, 2, number)[2:], ("float32", "float64"))


@examples(60, suppress_health_check=list(HealthCheck))
@given(any_formula(), st.lists(st.sampled_from("abc"), min_size=1, max_size=9))
def test_any_formula(formula: Formula, word: list[str]) -> None:
    try:
        models = [compile(formula, alphabet="abc", attention=target) for target in TARGETS]
    except SofthatError as error:
        assert "beyond 2^" in str(error)  # numbers that are no exact weights are refused
        return
    want = by_definition(formula, word)
    codes = np.array([["abc".index(symbol) for symbol in word]])
    for model in models:
        assert (model.run_batch(codes, "float64")[0, :, 0] > 0).tolist() == want


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_named_languages(case: Case) -> None:
    names = {"propositions" if case.propositional else "alphabet": case.alphabet}
    if case.name == "huge weights":
        with pytest.raises(SofthatError, match="beyond 2\\^40"):
            compile(parse(case.formula), **names)
        return
    model = compile(parse(case.formula), **names)
    words = case.words(most=60, longest=25)
    for word, row in zip(words, model.truth_many(words), strict=True):
        at = model.acceptance(at=case.at)
        assert bool(row[0 if at == "first" else -1]) == case.accepts(word)
