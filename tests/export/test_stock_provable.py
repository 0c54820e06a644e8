"""Formulas whose simplification the checker of checkpoints cannot follow are certified too."""

from __future__ import annotations

import numpy as np
import pytest

import softhat
from softhat.export.stock.provable import provable_program
from softhat.logic.random import random_formula


@pytest.mark.parametrize(
    "text",
    ["2 > #(Y O O b)", "#(H a | b) >= #(Y Y H a)", "O (Z b & 4 - #(a) > 2 & a <-> a)", "H first"],
)
def test_what_is_simplified_is_certified(text: str, tmp_path: object) -> None:
    model = softhat.compile(text, alphabet="ab")
    softhat.to_gpt2(model, f"{tmp_path}/gpt2", context=12)
    assert softhat.certify(f"{tmp_path}/gpt2").max_length["float32"] == 11


def test_a_program_that_can_be_followed_stays_what_it_is() -> None:
    model = softhat.compile("!c S a & #(a) > #(b)", alphabet="abc")
    assert provable_program(model.program, model.formulas, 64) is model.program


def test_random_decoders_are_certified(tmp_path: object) -> None:
    for seed in range(12):
        formula = random_formula(np.random.default_rng(seed), 12, ["a", "b"], "decoder")
        folder = f"{tmp_path}/{seed}"
        softhat.to_gpt2(softhat.compile(formula, alphabet="ab"), folder, context=12)
        assert softhat.certify(folder).max_length["float32"] == 11, formula


def test_only_the_output_that_is_asked_for_is_followed(tmp_path: object) -> None:
    """A table that is shorter than the context is refused where it is exported, and only there."""
    formulas = {"short": "at(t) & a", "free": "O a"}
    model = softhat.compile(formulas, alphabet="ab", predicates={"t": [1, 0, 1]})
    softhat.to_gpt2(model, f"{tmp_path}/free", context=12, output="free")
    assert softhat.certify(f"{tmp_path}/free").max_length["float32"] == 11
    with pytest.raises(softhat.SofthatError, match="context of at most 4"):
        softhat.to_gpt2(model, f"{tmp_path}/short", context=12, output="short")


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("#(mod(5, 3)) > 1", 3),  # nothing is ever counted
        ("!(3*#(H a T b) != 3 + #(3*#(mod(5, 3)) > 1) <-> mod(4, 0))", 3),
        ("#(H a) != #(O mod(4, 3))", 3),  # at no position does mod(4, 3) hold
        ("O (mod(9, 8) & a)", 5),
        ("b S mod(7, 6)", 4),
    ],
)
def test_what_is_constant_in_a_short_context_is_certified(
    text: str, context: int, tmp_path: object
) -> None:
    model = softhat.compile(text, alphabet="ab")
    softhat.to_gpt2(model, f"{tmp_path}/gpt2", context=context)
    softhat.to_llama(model, f"{tmp_path}/llama", context=context, positions="bits")
    for name in ("gpt2", "llama"):
        found = softhat.certify(f"{tmp_path}/{name}")
        assert found.max_length["float32"] == context - 1, found.void
