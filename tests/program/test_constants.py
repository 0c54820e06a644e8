"""No head that is compiled is constant, and no gate is without an assignment.

Judged by brute force: every signal of the program, evaluated exactly on short words and a few
long ones, must be true somewhere and false somewhere. With counting this is undecidable, and yet
no constant of these formulas is missed.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import softhat
from softhat.logic.random import random_formula
from softhat.program.build import build
from softhat.program.evaluate import evaluate
from softhat.program.gates import Gate
from softhat.program.heads import Head
from softhat.program.signals import Program
from tests.logic.oracle import truth as by_definition
from tests.slices import every

FAMILIES = ("star-free", "past")
WORDS = [np.array(word) for n in range(1, 7) for word in product(range(2), repeat=n)]
WORDS += [np.full(40, 0), np.full(40, 1), np.arange(40) % 2, np.arange(40) // 3 % 2]
WORDS += [np.random.default_rng(k).integers(0, 2, 40) for k in range(40)]
WORDS += [(np.arange(40) == k) ^ rest for k in (0, 20, 39) for rest in (0, 1)]  # one is different


COUNTING = ("all", "counting", "past-counting")


def constants(program: Program) -> list[str]:
    """The labels of what never changes on the words."""
    asked = [
        at
        for at, s in enumerate(program.signals)
        if isinstance(s, Head | Gate) and not (isinstance(s, Head) and s.numeric)
    ]
    some, every = dict.fromkeys(asked, False), dict.fromkeys(asked, True)
    for word in WORDS:
        if not any(every[at] or not some[at] for at in asked):
            break
        values = evaluate(program, word)
        for at in asked:
            some[at] |= bool(values[at].any())
            every[at] &= bool(values[at].all())
    return [program.labels[at] for at in asked if every[at] or not some[at]]


def counting(seed: int) -> list[str]:
    rng = np.random.default_rng([13, seed])
    formula = random_formula(rng, int(rng.integers(3, 28)), "ab", COUNTING[seed % 3])
    return constants(build({"f": formula}, "ab", False))


def check(seed: int) -> None:
    rng = np.random.default_rng([11, seed])
    formula = random_formula(rng, int(rng.integers(3, 28)), "ab", FAMILIES[seed % 2])
    program = build({"f": formula}, "ab", False)
    assert not constants(program), str(formula)
    literal = dict(program.outputs)["f"]
    for word in WORDS[:30:7]:
        text = "".join("ab"[code] for code in word)
        values = evaluate(program, word)
        got = values[literal.signal] if literal.signal >= 0 else np.full(len(word), True)
        want = by_definition(formula, text)
        assert (got if literal.positive else ~got).tolist() == want


@pytest.mark.parametrize("seed", every(3, range(60)))
def test_no_signal_is_constant(seed: int) -> None:
    check(seed)


def test_no_signal_is_constant_with_counts() -> None:
    assert [
        seed
        for seed in (*range(60), 106, 117, 123, 141, 146, 149, 290, 348, 683, 878, 960)
        if counting(seed)
    ] == []


@pytest.mark.full
def test_no_signal_is_constant_with_counts_full() -> None:
    assert [seed for seed in range(1000) if counting(seed)] == []


@pytest.mark.full
@pytest.mark.parametrize("seed", range(60, 1060))
def test_no_signal_is_constant_full(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("seed", range(12))
def test_the_certificate_speaks_of_the_formula_as_written(seed: int) -> None:
    rng = np.random.default_rng([12, seed])
    formula = random_formula(rng, 24, "ab", ("all", *FAMILIES)[seed % 3])
    model = softhat.compile(formula, alphabet="ab")
    assert model.certificate.void == ()
    assert model.formulas == {"output": formula}
