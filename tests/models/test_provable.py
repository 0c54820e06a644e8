"""Formulas whose simplification the checker cannot follow are built as written, and certified."""

from __future__ import annotations

import numpy as np
import pytest

import softhat
from softhat.logic.optimise.simplify import simplify
from softhat.logic.random import random_formula
from softhat.models.provable import is_provable
from softhat.program.build import build, build_as_written
from softhat.proof import boolean
from tests.logic.oracle import truth

LOST = (
    "((O b R !a) T G b) W 0 - #>(a & last) <= -2*#>(G H mod(2, 1)) + #>(b R first)",
    "#>(Y (b T !a) S 3*#(a) < n) != #(G -1*#>(a W G a W a) >= 0) - i",
    "-1 - -1*#>(O Y X (a S last)) > #>(a xor Z (b xor b))",
    "F (b M a S a T G (Z F H a -> X #*(H mod(4, 1)) > 3)) | b W H mod(3, 0)",
)
"""Once the models of these had no certificate."""


@pytest.mark.parametrize("text", LOST)
def test_what_cannot_be_followed_is_built_as_written(text: str) -> None:
    model = softhat.compile(text, alphabet="ab")
    assert model.certificate.max_length["float32"] > 1_000
    for word in ("a", "b", "ab", "ba", "abba", "bbaab", "aaaabb"):
        assert model.truth(word).tolist() == truth(model.formulas["output"], word)


def test_what_can_be_followed_is_simplified() -> None:
    formulas = {"output": softhat.parse("O O a & true")}
    simple = build(formulas, "ab", False, is_provable)
    written = build_as_written(formulas, "ab", False)
    assert simplify(formulas["output"]) != formulas["output"]
    assert len(simple.signals) < len(written.signals)


def test_a_wrong_program_is_not_followed() -> None:
    claimed = {"output": softhat.parse("O (a S b)")}
    wrong = build_as_written({"output": softhat.parse("O a")}, "ab", False)
    assert not is_provable(wrong, claimed)
    assert is_provable(build_as_written(claimed, "ab", False), claimed)


@pytest.mark.full
def test_random_counting_formulas_are_certified() -> None:
    for seed in range(400):
        formula = random_formula(np.random.default_rng(seed), 24, ["a", "b"], "all")
        certificate = softhat.compile(formula, alphabet="ab").certificate
        assert certificate.max_length["float32"], (seed, formula, certificate.void)


def test_what_is_too_large_to_follow_is_built_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boolean, "MOST_NODES", 20)
    pairs = " & ".join(
        f"(#({x}) >= {k} | O O (b & Y Y c{' & Y a' * k}))" for k, x in enumerate("abcab")
    )
    model = softhat.compile(pairs, alphabet="abc")
    assert "not decided" in model.certificate.void[0]
