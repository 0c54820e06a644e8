"""Formulas whose simplification the checker of checkpoints cannot follow are certified too."""

from __future__ import annotations

import numpy as np
import pytest

import softhat
from softhat.export.stock.followed import followed
from softhat.logic.random import random_formula


@pytest.mark.parametrize(
    "text",
    ["2 > #(Y O O b)", "#(H a | b) >= #(Y Y H a)", "O (Z b & 4 - #(a) > 2 & a <-> a)", "H first"],
)
def test_what_is_simplified_is_certified(text: str, tmp_path: object) -> None:
    model = softhat.compile(text, alphabet="ab")
    softhat.to_gpt2(model, f"{tmp_path}/gpt2", context=12)
    assert softhat.certify(f"{tmp_path}/gpt2").max_length["float32"] == 11


def test_a_model_that_can_be_followed_stays_what_it_is() -> None:
    model = softhat.compile("!c S a & #(a) > #(b)", alphabet="abc")
    assert followed(model, 64) is model


def test_random_decoders_are_certified(tmp_path: object) -> None:
    for seed in range(12):
        formula = random_formula(np.random.default_rng(seed), 12, ["a", "b"], "decoder")
        folder = f"{tmp_path}/{seed}"
        softhat.to_gpt2(softhat.compile(formula, alphabet="ab"), folder, context=12)
        assert softhat.certify(folder).max_length["float32"] == 11, formula
