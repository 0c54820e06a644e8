"""Decisions against MONA, explicit automata and brute force, on random pairs of formulas."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from softhat import equivalent, implies, satisfiable
from softhat.logic.random import random_formula
from softhat.logic.semantics.words import Word
from softhat.logic.syntax.nodes import And, Formula, Not, Xor
from tests.logic import oracle
from tests.logic.decide import automata, mona
from tests.logic.decide.disguise import disguise
from tests.slices import every

FAMILIES = ("past", "future", "star-free", "two-way")


def pair(seed: int) -> tuple[Formula, Formula, dict[str, Any]]:
    """Two formulas, equivalent ones and unrelated ones in turn, and what words are made of."""
    rng = np.random.default_rng([13, seed])
    family = FAMILIES[seed % 4]
    names = "ab" if seed % 3 else "abc"
    f = random_formula(rng, int(rng.integers(3, 12)), names, family)
    if seed // 4 % 2:
        g = disguise(f, rng)
    else:
        g = random_formula(rng, int(rng.integers(3, 9)), names, family)
    return f, g, {"propositions" if seed // 8 % 2 else "alphabet": names}


def check_with_mona(seed: int) -> None:
    f, g, words = pair(seed)
    names = next(iter(words.values()))
    propositional = "propositions" in words
    for wanted, where, found in (
        (Xor(f, g), "anywhere", equivalent(f, g, **words)),
        (And(f, Not(g)), "anywhere", implies(f, g, **words)),
        (f, "first", satisfiable(f, at="first", **words)),
        (g, "last", satisfiable(g, at="last", **words)),
    ):
        length = mona.least_length(wanted, where, names, propositional)
        if length not in ("timeout", "memory"):
            assert (None if found is None else len(found)) == length, (str(wanted), where)
        if found is not None:
            assert holds(wanted, found, where), (str(wanted), found)


def holds(formula: Formula, word: Word, where: str) -> bool:
    values = oracle.truth(formula, word)
    return any(values) if where == "anywhere" else values[0 if where == "first" else -1]


@mona.needs_mona
@pytest.mark.parametrize("seed", every(3, range(40)))
def test_mona_agrees(seed: int) -> None:
    check_with_mona(seed)


@mona.needs_mona
@pytest.mark.full
@pytest.mark.parametrize("seed", range(40, 600))
def test_mona_agrees_on_many(seed: int) -> None:
    check_with_mona(seed)


def check_with_automata(seed: int) -> None:
    rng = np.random.default_rng([14, seed])
    family = [
        "Y",
        "Z",
        "O",
        "H",
        "S",
        "T",
        "!",
        "&",
        "|",
        "xor",
        "->",
        "<->",
        "first",
        "mod",
        "true",
    ]
    f = random_formula(rng, int(rng.integers(3, 16)), "ab", family)
    g = (
        disguise(f, rng)
        if seed % 2
        else random_formula(rng, int(rng.integers(3, 12)), "ab", family)
    )
    found = equivalent(f, g, alphabet="abc")
    assert (None if found is None else len(found)) == automata.shortest(Xor(f, g), "abc")


@pytest.mark.parametrize("seed", every(3, range(40)))
def test_explicit_automata_agree(seed: int) -> None:
    check_with_automata(seed)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(40, 540))
def test_explicit_automata_agree_on_many(seed: int) -> None:
    check_with_automata(seed)


@pytest.mark.parametrize("seed", every(3, range(24)))
def test_the_first_of_the_shortest(seed: int) -> None:
    """Against the definition, on all words of at most 5 symbols in order."""
    f, g, _ = pair(seed)
    found = equivalent(f, g, alphabet="abc")
    for length in range(1, 6):
        for word in map("".join, product("abc", repeat=length)):
            if oracle.truth(f, word) != oracle.truth(g, word):
                assert found == word
                return
    assert found is None or len(found) > 5
