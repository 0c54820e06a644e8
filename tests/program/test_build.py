"""Programs: exact evaluation equals the formula, equal things are computed once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.io.errors import SofthatError
from softhat.logic.syntax.nodes import And, Formula, Since, symbol
from softhat.logic.syntax.parse import parse
from softhat.program.build import build
from softhat.program.draw import to_dot, to_text
from softhat.program.evaluate import outputs
from softhat.program.heads import Latest, Previous, Sign
from softhat.program.literals import FALSE, TRUE
from tests.logic.oracle import truth as by_definition
from tests.logic.strategies import formulas as any_formula
from tests.slices import examples


@examples(150)
@given(any_formula(), st.lists(st.sampled_from("abc"), min_size=1, max_size=12))
def test_exact_evaluation(formula: Formula, word: list[str]) -> None:
    try:
        program = build({"f": formula}, "abc", False)
    except SofthatError as error:
        assert "beyond 2^" in str(error)
        return
    codes = np.array(["abc".index(symbol) for symbol in word])
    assert outputs(program, codes)["f"].tolist() == by_definition(formula, word)


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("a & !a", FALSE),
        ("a | b | c", TRUE),  # over the alphabet abc
        ("Y false", FALSE),
        ("O true", TRUE),
        ("#(a) >= 0", TRUE),
        ("#(a) + i < 1", FALSE),
        ("mod(1, 0)", TRUE),
        ("a xor a", FALSE),
    ],
)
def test_trivial_formulas_leave_nothing(text: str, output: object) -> None:
    program = build({"f": parse(text)}, "abc", False)
    assert program.signals == ()
    assert program.outputs == (("f", output),)


def heads(text: str) -> list[str]:
    program = build({"f": parse(text)}, "abc", False)
    kinds = (Latest, Previous, Sign)
    return [type(s).__name__ for s in program.signals if isinstance(s, kinds)]


def test_common_subformulas() -> None:
    assert heads("(a S b) & !(a S b)") == []
    assert heads("O a xor !H !a") == []
    assert heads("(#(a) >= #(b)) | (#(b) > #(a))") == []
    assert heads("#(a) = #(b)") == ["Sign", "Sign"]
    assert heads("2*#(a) >= 4 & #(a) >= 2") == ["Sign"]


def test_deep_chains_do_not_recurse() -> None:
    chain: Formula = symbol("a")
    for _ in range(20_000):
        chain = And(chain, symbol("b").once())
    assert len(build({"f": chain}, "abc", False).signals) < 10
    deep: Formula = symbol("a")
    for _ in range(5_000):
        deep = Since(symbol("b"), ~deep)
    assert len(build({"f": deep}, "abc", False).signals) >= 5_000


def test_text_and_drawing() -> None:
    program = build({"f": parse("!c S a & #(b) >= 2")}, "abc", False)
    assert to_text(program).splitlines()[-1].startswith("f = ")
    dot = to_dot(program)
    assert dot.startswith("digraph")
    assert dot.count("->") == sum(line.count("s") > 0 and "->" in line for line in dot.splitlines())


def test_moduli_beyond_64_bits() -> None:
    program = build({"f": parse(f"mod({2**64}, 2) | mod({2**64}, {2**64 - 1})")}, "a", False)
    assert outputs(program, np.zeros(4, np.int64))["f"].tolist() == [False, True, False, False]
