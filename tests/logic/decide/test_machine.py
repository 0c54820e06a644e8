"""A formula as a machine: run over a word it computes the formula, and mirrored on its reverse."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from softhat import parse
from softhat.logic.core import to_core
from softhat.logic.decide.machine import apart, build, looks_ahead, mirror
from softhat.logic.random import random_formula
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.walk import distinct
from tests.logic import oracle

WITH_BITS = nodes.Yesterday | nodes.Since | nodes.Tomorrow | nodes.Until
WORDS = ["".join(word) for n in (1, 2, 3, 4) for word in product("ab", repeat=n)]


def run(formula: Formula, word: str) -> list[bool]:
    """All gates at all positions: memories from the position before, promises from the next."""
    machine = build(formula)
    n = len(word)
    values = [[False] * len(machine.gates) for _ in range(n)]
    for _ in range(len(machine.gates) * n + 1):  # a fixed point: promises go the other way
        before = [row.copy() for row in values]
        for i in range(n):
            for at, (node, below) in enumerate(machine.gates):
                held = [values[i][b] for b in below]
                earlier = i > 0 and values[i - 1][machine.remembered(at)]
                later = i < n - 1 and values[i + 1][machine.remembered(at)]
                values[i][at] = gate(node, held, earlier, later, word, i)
        if values == before:
            break
    return [row[machine.root] for row in values]


def gate(node: nodes.Node, held: list[bool], earlier: bool, later: bool, word: str, i: int) -> bool:
    match node:
        case nodes.Symbol(name):
            return word[i] == name
        case nodes.Constant(value):
            return value
        case nodes.First():
            return i == 0
        case nodes.Last():
            return i == len(word) - 1
        case nodes.Mod(modulus, remainder):
            return (i + 1) % modulus == remainder
        case nodes.Not():
            return not held[0]
        case nodes.And():
            return held[0] and held[1]
        case nodes.Or():
            return held[0] or held[1]
        case nodes.Xor():
            return held[0] != held[1]
        case nodes.Yesterday():
            return earlier
        case nodes.Tomorrow():
            return later
        case nodes.Since():
            return held[1] or (held[0] and earlier)
        case nodes.Until():
            return held[1] or (held[0] and later)
    raise AssertionError(node)


@pytest.mark.parametrize("seed", range(12))
def test_the_machine_computes_the_formula(seed: int) -> None:
    core = to_core(random_formula(np.random.default_rng(seed), 8, "ab", "star-free"))
    for word in WORDS:
        assert run(core, word) == oracle.truth(core, word), core


@pytest.mark.parametrize("seed", range(12))
def test_the_mirror_image_is_true_of_the_reversed_word(seed: int) -> None:
    core = to_core(random_formula(np.random.default_rng(seed), 8, "ab", "star-free"))
    image = mirror(core)
    if image is None:
        assert any(isinstance(n, nodes.Mod) for n, _ in build(core).gates)
        return
    for word in WORDS:
        assert oracle.truth(image, word[::-1]) == oracle.truth(core, word)[::-1]


def test_places_that_look_alike() -> None:
    machine = build(to_core(parse("mod(2, 1) & O mod(3, 2)")))
    assert machine.period == 6 and machine.start == 1
    assert [machine.place(i) for i in (1, 2, 3, 7, 8, 9)] == [1, 2, 3, 7, 2, 3]
    assert mirror(to_core(parse("mod(2, 1)"))) is None


def test_what_must_never_hold() -> None:
    """`H a & b` is a conjunction with `!O !a`: once a fails, it can't hold any more."""
    machine = build(to_core(parse("H a & b")))
    assert len(machine.never) == 1
    assert str(machine.gates[machine.never[0]][0]) in ("true S !a", "O !a")
    assert build(to_core(parse("H a | b"))).never == ()


def test_looking_ahead() -> None:
    for text, ahead in (("Y a", False), ("X a", True), ("a S b", False), ("last", True)):
        assert looks_ahead(to_core(parse(text))) == ahead


@pytest.mark.parametrize("seed", range(12))
def test_taken_apart_it_means_the_same_and_takes_no_more_bits(seed: int) -> None:
    core = to_core(random_formula(np.random.default_rng([1, seed]), 12, "ab", "star-free"))
    split = apart(core)
    for word in WORDS:
        assert oracle.truth(split, word) == oracle.truth(core, word), core
    bits = sum(isinstance(n, WITH_BITS) for n, _ in distinct(core)[0])
    machine = build(core)
    assert len(machine.memories) + len(machine.promises) <= bits


@pytest.mark.parametrize(
    ("formula", "bits"),
    [
        ("Y a & Y b & Y (a & !b)", 2),
        ("Y a & Y b & Y !(a xor b)", 2),
        ("Y (a S b) | a S b", 1),
        ("Y !(a S b) & Y true", 1),
        ("X a & X b & X !(a | b)", 2),
        ("X (a U b) xor X !(a U b)", 1),
        ("Y Y a & Y Y b & Y Y (a & b)", 4),
        ("Y (a & b)", 1),
    ],
)
def test_what_has_a_bit_is_not_remembered_again(formula: str, bits: int) -> None:
    core = to_core(parse(formula))
    machine = build(core)
    assert len(machine.memories) + len(machine.promises) == bits
    for word in WORDS:
        assert oracle.truth(apart(core), word) == oracle.truth(core, word)
