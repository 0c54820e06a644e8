"""Random models, attacked with hostile words at and just below their certified length."""

from __future__ import annotations

import numpy as np
import pytest

import softhat
from softhat.explore.pictures import hostile
from softhat.logic.random import random_formula
from softhat.models.model import Model
from tests.slices import every

FAMILIES = ("star-free", "past-counting", "counting", "all")
LONGEST = {"bfloat16": 300, "float16": 2100}
"""Where the certified length is beyond this, it is attacked here."""


def drawn(seed: int) -> Model:
    rng = np.random.default_rng(seed)
    formula = random_formula(rng, int(rng.integers(3, 14)), "ab", FAMILIES[seed % 4])
    target = ("unbounded", "temperature")[seed // 4 % 2]
    return softhat.compile(formula, alphabet="abc", attention=target)


def attack(seed: int, dtype: str, words: int) -> None:
    """Every answer must be the formula's."""
    model = drawn(seed)
    (formula,) = model.formulas.values()
    certified = model.certificate.max_length[dtype]
    for n in {min(certified, LONGEST[dtype]), min(certified - 1, LONGEST[dtype])}:
        if n < 1:
            continue
        for tokens in hostile(model, n, words):
            word = "".join("abc"[code] for code in tokens)
            says = model.run_batch(tokens[None], dtype)[0, :, 0] > 0
            assert (says == formula.truth(word)).all(), (seed, dtype, str(formula), word)


@pytest.mark.parametrize("seed", every(3, range(24)))
def test_bfloat16(seed: int) -> None:
    attack(seed, "bfloat16", 6)


@pytest.mark.parametrize("seed", range(100, 104))
def test_float16(seed: int) -> None:
    attack(seed, "float16", 2)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(200, 440))
def test_both_full(seed: int) -> None:
    attack(seed, "bfloat16", 20)
    attack(seed, "float16", 6)
