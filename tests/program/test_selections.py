"""Selectors, counts and digits of positions as formulas, against RASP's definition."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from softhat import rasp
from softhat.frontends.rasp.compile import compile_rasp
from softhat.frontends.rasp.evaluate import evaluate
from softhat.frontends.rasp.outputs import decode
from softhat.io.errors import SofthatError
from softhat.logic.syntax import nodes
from softhat.program.inputs import PositionBit
from softhat.program.read_back import read_back, unsaid
from softhat.program.selections import digit
from tests.frontends.rasp.cases import CASES, Case
from tests.frontends.rasp.random_programs import random_program


def is_said(program: rasp.SOp, alphabet: tuple[Any, ...], causal: bool, longest: int) -> bool:
    """Does the program have formulas? Then they are right on all words to 2 and random ones."""
    try:
        compiled = compile_rasp(program, alphabet, longest, causal)
    except SofthatError:
        return False
    formulas = read_back(compiled.program)
    assert (formulas is None) == (unsaid(compiled.program) is not None)
    if formulas is None or compiled.program.numbers:
        return False
    dice = random.Random(1)
    words = [w for n in range(1, 3) for w in product(alphabet, repeat=n)]
    words += [tuple(dice.choices(alphabet, k=longest)) for _ in range(6)]
    for word in words:
        symbols = [compiled.program.symbols[alphabet.index(token)] for token in word]
        bits = {name: formula.truth(symbols).tolist() for name, formula in formulas.items()}
        try:
            expected = evaluate(program, list(word), causal)
        except Exception:  # a program has no meaning where it raises
            continue
        assert decode(compiled.decoder, bits, {}, len(word)) == list(expected), word
    return True


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_library(case: Case) -> None:
    for causal in (False, True):
        is_said(case.program, case.alphabet, causal, 5)


@pytest.mark.parametrize("name", ["hist", "sort", "count", "shift_by 3"])
def test_what_has_formulas(name: str) -> None:
    case = next(case for case in CASES if case.name == name)
    assert is_said(case.program, case.alphabet, True, 6)


def check_random(seeds: range) -> int:
    return sum(
        is_said(random_program(random.Random(seed), 2 + seed % 4), (0, 1, 2), seed % 3 > 0, 5)
        for seed in seeds
    )


def test_random_programs() -> None:
    assert check_random(range(60)) >= 20


@pytest.mark.full
def test_many_random_programs() -> None:
    assert check_random(range(60, 1_500)) >= 400


@pytest.mark.parametrize("position", [1, -1, 3])
@pytest.mark.parametrize("bit", [0, 1, 3])
def test_digits_of_positions(bit: int, position: int) -> None:
    for constant in (-5, 0, 7, 40):
        formula = digit(PositionBit(bit, position, 0, constant))
        assert isinstance(formula, nodes.Formula)
        numbers = [max(0, position * i + constant) for i in range(1, 61)]
        assert formula.truth("a" * 60).tolist() == [bool(v >> bit & 1) for v in numbers]


def test_digits_that_no_formula_says() -> None:
    assert digit(PositionBit(0, 1, 1, 0)) is None
    assert digit(PositionBit(20, 1, 0, 0)) is None
