"""Chains of many parts, and looking that has an end. Rules one by one are in `test_core`."""

from __future__ import annotations

import random

import numpy as np
import pytest

from softhat import parse
from softhat.logic.optimise import simplify as module
from softhat.logic.optimise.entail import Look
from softhat.logic.optimise.simplify import simplify
from softhat.logic.random import random_formula
from softhat.logic.syntax.nodes import FALSE, TRUE, And, Formula, Not, Or, Symbol
from softhat.logic.syntax.walk import distinct
from tests.logic import oracle

WORDS = ["a", "b", "ab", "ba", "abba", "bbaab", "aabab"]


def chain(rng: random.Random, count: int) -> Formula:
    """Conjunctions and disjunctions of any shape, with parts that stand there several times."""
    draws = np.random.default_rng(rng.getrandbits(32))
    pool: list[Formula] = [
        random_formula(draws, rng.randrange(1, 5), "ab", "star-free") for _ in range(12)
    ]
    pool += [Not(part) for part in pool[:4]]
    parts = [rng.choice(pool) for _ in range(count)]
    while len(parts) > 1:
        at = rng.randrange(len(parts) - 1) if rng.random() < 0.3 else 0
        kind = And if rng.random() < rng.choice((0.02, 0.5, 0.98)) else Or
        parts[at : at + 2] = [kind(parts[at], parts[at + 1])]
    return parts[0]


@pytest.mark.parametrize("steps", [0, 50, module.STEPS])
@pytest.mark.parametrize("count", [40, pytest.param(400, marks=pytest.mark.full)])
def test_chains_mean_the_same(count: int, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", steps)
    rng = random.Random(count)
    for _ in range(count):
        formula = chain(rng, rng.randrange(33, 120))
        simple = simplify(formula)
        for word in WORDS:
            assert oracle.truth(simple, word) == oracle.truth(formula, word), formula


@pytest.mark.parametrize(("sign", "zero"), [("&", FALSE), ("|", TRUE)])
def test_a_part_stands_once(sign: str, zero: Formula) -> None:
    names = [f"s{k}" for k in range(50)]
    twice = simplify(parse(f" {sign} ".join(names * 40)))
    assert str(twice) == f" {sign} ".join(names)
    assert simplify(parse(f" {sign} ".join([*names, "!s7"]))) == zero
    assert simplify(parse(f" {sign} ".join([*names, str(zero), *names]))) == zero
    other = "true" if sign == "&" else "false"
    assert simplify(parse(f" {sign} ".join([other] * 99))) == parse(other)
    assert str(simplify(parse(f" {sign} ".join([other, *names])))) == f" {sign} ".join(names)


def test_what_is_shared_stays_shared() -> None:
    """Each link is used twice: as a tree the chain would have 2^60 parts."""
    formula: Formula = Symbol("a")
    for k in range(60):
        formula = And(Or(formula, Symbol(f"b{k}")), formula)
    assert len(distinct(simplify(formula))[0]) <= len(distinct(formula)[0])
    chained: Formula = And(Symbol("a"), Symbol("b"))
    for _ in range(200):
        chained = And(chained, chained)
    assert str(simplify(chained)) == "a & b"


def test_after_the_last_step_the_plain_answers_are_left() -> None:
    a, b = Symbol("a"), Symbol("b")
    assert Look().entails(And(a, b), a)
    look = Look(1)
    assert not look.entails(And(a, b), Or(b, a))
    assert look.spent
    assert look.entails(a, a)
    assert look.at_edge(a.once(), "first") == a.once()
