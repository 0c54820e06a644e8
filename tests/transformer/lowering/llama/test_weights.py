"""The residual stream of a Llama is made so that RMSNorm does nothing, and scores are far apart."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.program.literals import Literal
from softhat.program.registers import Register
from softhat.transformer.lowering.llama.layout import lay_out
from softhat.transformer.lowering.llama.rotary import rotary
from softhat.transformer.lowering.llama.weights import conjunction, trunk
from softhat.transformer.lowering.stock.forms import bit_of
from softhat.transformer.lowering.stock.plan import ONE, ORDINARY

TOKENS = (frozenset("a"), frozenset("b"))


@pytest.mark.parametrize("positions", ["rope", "bits"])
@pytest.mark.parametrize("text", ["a", "a S b", "#(a) > #(b) & #(a) > 3", "Y (a S Y b) | i >= 7"])
@pytest.mark.parametrize("square", [False, True])
def test_the_mean_square_is_one(text: str, positions: Any, square: bool) -> None:
    layout = lay_out(softhat.compile(text, "ab").program, rotary(positions, 100), square)
    table = trunk(layout, TOKENS).tokens.astype(np.float64)
    assert (table**2).mean(axis=1).tolist() == [1.0] * 4
    assert layout.d_model % layout.n_head == 0 and layout.n_head % layout.n_kv == 0
    if square:
        assert layout.d_model == layout.n_head * layout.rotary.head_dim


@pytest.mark.parametrize("context", [2, 64, 1024, 4096, 1 << 17])
def test_recency_falls_by_at_least_the_sharpness_a_step(context: int) -> None:
    chosen = rotary("rope", context)
    distance = np.arange(context)
    score = -chosen.steepness * np.sin(chosen.slow * (distance - context / 2))
    assert -np.diff(score).max() >= chosen.sharpness
    assert chosen.penalty > np.ptp(score) + chosen.sharpness
    assert chosen.theta == chosen.slow**-4 < 3.4e38


@pytest.mark.parametrize("context", [2, 100, 8192])
def test_digits_are_signs_of_sines(context: int) -> None:
    chosen = rotary("bits", context)
    i = np.arange(1, context)
    for b in range(chosen.digits):
        sine = np.sin(np.pi * (i + 0.5) / 2**b)
        assert ((sine < 0) == (i >> b & 1 == 1)).all()
        assert 2**b * np.abs(sine).min() >= 1
    assert chosen.digit_pair(0) >= chosen.digits  # apart from the pairs that Previous uses


@pytest.mark.parametrize("negated", [0, 1, 3])
def test_a_conjunction_is_small_and_fails_at_bos(negated: int) -> None:
    """Every assignment by brute force; constants that cancel would take float32's digits away."""
    literals = [Literal(at, at >= negated) for at in range(3)]
    total = conjunction(bit_of(literal) for literal in literals)
    at = [Register(signal, False) for signal in range(3)]

    def value(bits: tuple[int, ...], ordinary: float) -> float:
        stream: dict[Any, float] = {
            ONE: 1.0,
            ORDINARY: ordinary,
            **dict(zip(at, bits, strict=True)),
        }
        return total.constant + sum(w * stream[key] for key, w in total.weights.items())

    for bits in product((-1, 1), repeat=3):
        holds = all(
            (bit > 0) == literal.positive for bit, literal in zip(bits, literals, strict=True)
        )
        assert value(bits, 1.0) == 1 if holds else value(bits, 1.0) <= 0
    assert value((-1, -1, -1), 0.0) <= 0  # `<bos>` has no bits
    assert sum(map(abs, total.weights.values())) + abs(total.constant) <= 3 + 3 + 1
