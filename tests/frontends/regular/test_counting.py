"""Solvable groups by counting, against automata that are run symbol by symbol."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.frontends.regular.counting import PermutationReset, counted_program, permutation_reset
from softhat.frontends.regular.dfa import minimal, read_dfa
from softhat.program.evaluate import outputs
from tests.frontends.regular.test_doubling import A5, expected, group_automaton

Given = dict[str, Any]


def automaton(letters: list[tuple[int, ...]], accept: list[int]) -> Given:
    """Letters say where each state goes."""
    symbols = "abcdef"[: len(letters)]
    names = [str(q) for q in range(len(letters[0]))]
    edges = {q: {s: str(to[int(q)]) for s, to in zip(symbols, letters, strict=True)} for q in names}
    return {"alphabet": list(symbols), "states": names, "start": "0",
            "accept": [str(q) for q in accept], "transitions": edges}  # fmt: skip


COUNTED: dict[str, tuple[Given, tuple[int, ...]]] = {
    "parity": (automaton([(1, 0), (0, 1)], [0]), (2,)),
    "modulo 5": (automaton([(1, 2, 3, 4, 0), (4, 0, 1, 2, 3)], [0]), (5,)),
    "S3": (automaton([(1, 0, 2), (1, 2, 0)], [0]), (2, 3)),
    "S4": (automaton([(1, 0, 2, 3), (1, 2, 3, 0)], [0]), (2, 3, 2, 2)),
    "two counters": (automaton([(1, 2, 3, 0, 4, 5), (0, 1, 2, 3, 5, 4)], [0, 4]), (4,)),
    "parity since the last c": (automaton([(1, 0), (0, 1), (0, 0)], [0]), (2,)),
    "S3 with resets": (automaton([(1, 0, 2), (1, 2, 0), (2, 2, 2), (1, 1, 1)], [0]), (2, 3)),
    "parity until it is lost": (automaton([(1, 0, 2), (0, 2, 2)], [0]), (2,)),
    "parity until won or lost": (automaton([(1, 0, 2, 3), (0, 2, 2, 3), (3, 1, 2, 3)], [0, 3]),
                                 (2,)),
}  # fmt: skip


def machine_of(given: Given) -> PermutationReset:
    machine = permutation_reset(minimal(read_dfa(given)))
    assert isinstance(machine, PermutationReset)
    return machine


def check(given: Given, words: list[str], longest: int) -> None:
    dfa = minimal(read_dfa(given))
    program = counted_program(dfa, machine_of(given), dfa.alphabet, longest, "member")
    for word in words:
        codes = np.array([dfa.alphabet.index(s) for s in word])
        assert outputs(program, codes)["member"].tolist() == expected(given, word), word


def words_over(given: Given, short: int, longest: int) -> list[str]:
    dice = random.Random(11)
    letters = given["alphabet"]
    every = ["".join(w) for n in range(1, short + 1) for w in product(letters, repeat=n)]
    return every + ["".join(dice.choices(letters, k=n)) for n in (longest // 2, longest)]


@pytest.mark.parametrize("name", COUNTED)
def test_counting_is_right(name: str) -> None:
    given, orders = COUNTED[name]
    assert machine_of(given).orders == orders
    check(given, words_over(given, 5, 40), 40)


@pytest.mark.parametrize("name", ["parity", "S3", "parity since the last c"])
def test_counting_is_certified(name: str) -> None:
    given, _ = COUNTED[name]
    model = softhat.compile(softhat.from_dfa(given, depth="auto"), max_length=64)
    assert model.depth is not None and model.depth.startswith("counting")
    assert model.certificate.max_length["float32"] == 64
    for word in words_over(given, 4, 64):
        assert model.truth(word).tolist() == expected(given, word), word


def test_random_automata_of_permutations_and_resets() -> None:
    solvable = 0
    for seed in range(60):
        dice = random.Random(seed)
        states = dice.randrange(2, 6)
        letters = []
        for _ in range(dice.randrange(1, 4)):
            row = list(range(states))
            dice.shuffle(row)
            if dice.random() < 0.25:
                row = [dice.randrange(states)] * states
            letters.append(tuple(row))
        given = automaton(letters, dice.sample(range(states), dice.randrange(1, states)))
        dfa = minimal(read_dfa(given))
        if isinstance(permutation_reset(dfa), PermutationReset):
            solvable += 1
            check(given, words_over(given, 3, 24), 24)
    assert solvable > 25


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (group_automaton(A5, "ab"), "60 permutations that is not solvable"),
        (automaton([(1, 1, 2), (2, 0, 1)], [0]), "neither permutes"),
    ],
)
def test_what_counting_cannot_do(given: Given, why: str) -> None:
    said = permutation_reset(minimal(read_dfa(given)))
    assert isinstance(said, str) and why in said
    model = softhat.compile(softhat.from_dfa(given, depth="auto"), max_length=4)
    assert model.depth is not None and model.depth.startswith("logarithmic")
    assert why in model.depth


def test_the_choice() -> None:
    even = "(b*ab*a)*b*"
    formula = softhat.from_regex("(a|b)*abb", alphabet="ab", depth="auto")
    assert isinstance(formula, softhat.Formula)
    assert str(softhat.from_regex("(aa)*", depth="auto")) == "mod(2, 0)"
    language = softhat.from_regex(even, depth="auto", max_length=256)
    assert softhat.compile(language).size.layers == 1
    long = softhat.compile(softhat.from_regex(even, depth="auto"), max_length=8192)
    assert long.size.layers == 13 and "no count of that many" in str(long.depth)
    assert softhat.compile(softhat.from_regex(even, depth="log"), max_length=256).size.layers == 8
