"""Stack programs: brackets by a list, a calculator by Python's arithmetic, errors."""

from __future__ import annotations

import random
from typing import Any, cast

import pytest

import softhat
from softhat.frontends.machines.stack import StackMachine
from softhat.io.errors import SofthatError
from softhat.models.zoo.machines import CLOSER, calculator
from tests.frontends.machines.checks import check_decided, check_run


def program(given: dict[str, Any], space: int = 32) -> StackMachine:
    return cast(StackMachine, softhat.machine({"kind": "stack", "program": given}, space=space))


def closed(word: str) -> tuple[str, bool]:
    """The brackets to write, and whether all of them fit."""
    stack: list[str] = []
    for c in word:
        if c in "([":
            stack.append({"(": ")", "[": "]"}[c])
        elif not stack or stack.pop() != c:
            return "", False
    return "".join(reversed(stack)), True


@pytest.mark.parametrize("seed", range(12))
def test_brackets(seed: int) -> None:
    rng = random.Random(seed)
    word = "".join(rng.choice("(([[)]") for _ in range(seed))
    run = check_run(program(CLOSER), word, 200)
    output, fits = closed(word)
    assert (run.tape, run.label == "done") == (output, fits)
    assert run.halted


def test_every_history_has_one_next_token() -> None:
    check_decided(program(CLOSER))


@pytest.mark.parametrize(
    ("word", "value"), [("34+", 0), ("34*5-", 0), ("12+3*6-", 3), ("6", 6), ("56*2+", 4)]
)
def test_a_calculator_modulo_7(word: str, value: int) -> None:
    m = program(calculator(7)["program"], space=16)
    assert check_run(m, word, 60).tape == str(value)


def test_too_deep_is_said() -> None:
    run = check_run(program({"l": ["push", "x", "l"]}, space=8), None, 50)
    assert (run.full, run.halted, run.word[-2:]) == (True, False, ("full", "<eos>"))


def test_it_stops_at_max_steps() -> None:
    m = program({"l": ["push", "x", "m"], "m": ["pop", {"x": "l"}]}, space=8)
    for steps in range(6):
        assert not check_run(m, None, steps).halted


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "a stack program is"),
        ({"l": ["halt"]}, "nothing but halt"),
        ({"l": ["push", "x", "m"]}, "no instruction 'm'"),
        ({"l": ["push", "x"]}, "is not"),
        ({"l": ["jump", "l"]}, "is no instruction"),
        ({"l": ["read", {}]}, "is not"),
        ({"l m": ["halt"]}, "is no label"),
        ({"l": ["push", "x y", "l"]}, "part of a token"),
        ({"l": "push"}, "is no instruction"),
    ],
)
def test_bad_programs(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SofthatError, match=said) as caught:
        program(given)
    assert "\n" not in str(caught.value)


def test_bad_inputs() -> None:
    with pytest.raises(SofthatError, match="no instruction reads"):
        program(CLOSER).run("(x")
    with pytest.raises(SofthatError, match="leaves the window"):
        program(CLOSER, space=8).run("((((")
