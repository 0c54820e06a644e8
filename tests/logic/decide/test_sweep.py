"""Merging subformulas keeps the truth value at every position, and finds what is the same."""

from __future__ import annotations

import numpy as np
import pytest

from softhat.logic.core import to_core
from softhat.logic.decide.letters import Letters
from softhat.logic.decide.machine import build
from softhat.logic.decide.sweep import swept
from softhat.logic.optimise.simplify import simplify
from softhat.logic.random import random_formula
from softhat.logic.syntax.nodes import FALSE, Xor
from softhat.logic.syntax.parse import parse
from tests.logic import oracle
from tests.logic.decide.disguise import disguise
from tests.slices import every

LETTERS = Letters(("a", "b"), False)
FAMILIES = ("past", "future", "star-free", "two-way")


@pytest.mark.parametrize("seed", every(3, range(40)))
def test_truth_is_kept(seed: int) -> None:
    rng = np.random.default_rng([8, seed])
    letters = Letters(("a", "b"), bool(seed % 2))
    f = random_formula(rng, 14, "ab", FAMILIES[seed % 4])
    core = to_core(f | disguise(f, rng) & random_formula(rng, 8, "ab", FAMILIES[seed % 4]))
    merged = swept(core, letters)
    for length in (1, 2, 3, 4, 7, 12):
        word = letters.word(rng.integers(0, letters.count, length).tolist())
        assert oracle.truth(merged, word) == oracle.truth(core, word)


@pytest.mark.parametrize("seed", range(12))
def test_other_words_for_the_same_are_merged(seed: int) -> None:
    rng = np.random.default_rng([9, seed])
    f = random_formula(rng, 24, "ab", FAMILIES[seed % 3])
    differ = to_core(simplify(Xor(f, disguise(f, rng))))
    assert simplify(swept(differ, LETTERS)) == FALSE


def test_what_looks_alike_and_is_not_stays() -> None:
    """They differ on words longer than those that are tried."""
    late = "Y " * 40
    core = to_core(parse(f"{late} a & !(Y {late} b)"))
    merged = swept(core, LETTERS)
    for word in ("ba" + "a" * 40, "aa" + "a" * 40, "ab" * 21):
        assert (merged.truth(word) == core.truth(word)).all()
    assert len(build(merged).memories) == len(build(core).memories) == 81
