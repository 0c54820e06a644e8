"""What an optimiser rewrote by laws of the logic, Coq proves anew, and nothing that is not true."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat.logic.random import FAMILIES, random_formula
from softhat.models.model import Model
from softhat.transformer.weights import Attention
from tests.proofs.coq import certified, needs_coq

LAWS = (
    "O (a S b)", "H Y c", "F (b U a)", "a S (a S b)", "O O a", "H O Y a -> O a | !c",  # one way
    "O last", "X Y (F c M G b) R mod(3, 0) <-> first", "Y N (a W H Y true)",  # both ways
    "H O mod(4, 0)", "F F a U !(mod(3, 1) -> first)",  # residues
    "!(!c | b | 2*#*(a) >= #>(a) - 3*#>(c))", "!1*#*(a) != n & !a <-> !c",  # one comparison
    "Z (#(b) = #(c) + i & Y c)", "#*(first) != 0 U O a", "-1*#(O c) - #(!c) = -1",  # kept sums
    "#(Y O O b) <= 1*#(c xor O c)", "-2 + #(Z #(b) <= 2*#(a)) != -1",  # counts of the same
    "H #*(X a xor G 3 - 2*#(b) >= 0) != #*(2*#(#>(G a) >= 0) >= 4 - n)",  # always true, and counted
)  # fmt: skip


def _random(count: int, seed: int, most: int) -> list[Model]:
    rng = np.random.default_rng(seed)
    targets: tuple[Attention, Attention] = ("unbounded", "temperature")
    families = list(FAMILIES)
    models = []
    for k in range(count):
        size, family = int(rng.integers(2, most)), families[int(rng.integers(len(families)))]
        formula = random_formula(rng, size, "abc", family)
        models.append(softhat.compile(formula, alphabet="abc", attention=targets[k % 2]))
    return models


def test_laws_that_an_optimiser_used_are_proved_anew(tmp_path: Path) -> None:
    needs_coq()
    models = [softhat.compile(text, alphabet="abc") for text in LAWS]
    for text, right in zip(LAWS, certified(models, tmp_path), strict=True):
        assert right, text


def _all_proved_are_accepted(models: list[Model], folder: Path) -> None:
    """Whatever softhat's own checker calls proved, Coq accepts."""
    proved = [model for model in models if not model.certificate.void]
    assert len(proved) >= len(models) - 1 - len(models) // 100
    for model, right in zip(proved, certified(proved, folder), strict=True):
        assert right, str(model.formulas)


def test_random_formulas_are_accepted(tmp_path: Path) -> None:
    needs_coq()
    _all_proved_are_accepted(_random(25, 5, 15), tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("seed, most", [(1, 15), (2, 15), (3, 26)])
def test_many_random_formulas_are_accepted(seed: int, most: int, tmp_path: Path) -> None:
    needs_coq()
    _all_proved_are_accepted(_random(500 if most < 20 else 150, seed, most), tmp_path)


PAIRS = (
    ("O (a S b)", "O a"), ("F (b U a)", "F b"), ("a S (a S b)", "a S b | Y a"),
    ("O last", "true"), ("H O mod(4, 0)", "O mod(4, 0)"), ("F mod(3, 1)", "F mod(3, 2)"),
    ("#(O O b) > 1", "#(b) > 1"), ("#*(first) = 1", "#*(a) = 1"), ("O (#(a) > 2)", "#*(a) > 2"),
    ("#(a) <= i", "#(a) < i"), ("#>(a) + #(a) > #*(a)", "#(a) > 0"), ("G X a", "G a"),
)  # fmt: skip


def test_what_is_not_a_law_is_refused(tmp_path: Path) -> None:
    """The model of one formula under the name of another, which differs from it on some word."""
    needs_coq()
    models = []
    for mine, other in PAIRS:
        assert softhat.equivalent(mine, other, alphabet="abc") is not None
        made = softhat.compile(mine, alphabet="abc")
        claimed = softhat.compile(other, alphabet="abc").formulas
        models.append(Model(made.transformer, claimed, made.program))
    assert certified(models, tmp_path) == [False] * len(PAIRS)
