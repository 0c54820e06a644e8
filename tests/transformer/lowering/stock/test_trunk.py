"""A trunk over variables computes what its checkpoint does over coordinates; clips clip."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import softhat
from softhat.program.registers import Register
from softhat.transformer.lowering.gpt2 import layout as pairs
from softhat.transformer.lowering.gpt2 import weights as gpt2
from softhat.transformer.lowering.llama import layout as coordinates
from softhat.transformer.lowering.llama import weights as llama
from softhat.transformer.lowering.llama.rotary import rotary
from softhat.transformer.lowering.stock.forms import PairForm
from softhat.transformer.lowering.stock.plan import ONE, ORDINARY
from softhat.transformer.lowering.stock.trunk import LoweredClip, clipped, row_over

TOKENS = (frozenset("a"), frozenset("b"))
PROGRAM = softhat.compile("(a S !Y b) | #(a) > #(b)", "ab").program


def test_pairs_read_and_hold_what_variables_do() -> None:
    """x holds +v and -v for each variable v: its mean is 0, and every row reads the same."""
    layout = pairs.lay_out(PROGRAM, 32)
    trunk = gpt2.trunk(layout, TOKENS, "relu")
    assert trunk.positions is not None and trunk.d_ff == len(trunk.blocks[0].gate)
    v = trunk.tokens[[0, 2]] + trunk.positions[[3, 0]]
    x = gpt2.held_in_pairs(trunk.tokens)[[0, 2]] + gpt2.held_in_pairs(trunk.positions)[[3, 0]]
    assert x.shape == (2, layout.d_model) and not x.sum(axis=1).any()
    for block in trunk.blocks:
        stored = gpt2.in_coordinates(block)
        rows = np.concatenate([block.query, block.key, block.value])
        constants = block.constants.reshape(-1)
        assert np.array_equal(x @ stored.c_attn + stored.c_attn_bias, v @ rows.T + constants)
        assert np.array_equal(x @ stored.c_fc, v @ block.gate.T)
        for written, over in ((stored.attn_proj, block.output), (stored.mlp_proj, block.down)):
            assert np.array_equal(written[:, ::2], over.T)
            assert np.array_equal(written[:, 1::2], -over.T)


def test_coordinates_of_a_llama_are_its_variables() -> None:
    layout = coordinates.lay_out(PROGRAM, rotary("rope", 32))
    trunk = llama.trunk(layout, TOKENS)
    assert trunk.positions is None
    for block in trunk.blocks:
        stored = llama.in_coordinates(block)
        assert np.array_equal(stored.gate, block.gate) and np.array_equal(stored.up, block.up)
        assert block.sides == 2 * len(block.clips)


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("step", [2.0, -2.0])
def test_a_clip_adds_its_step_where_the_sum_is_one(step: float, gated: bool) -> None:
    layout: Any = pairs.lay_out(PROGRAM, 32)
    gain = 128.0 if gated else 1.0
    target = next(key for key in layout.place if isinstance(key, Register))
    own = LoweredClip(target, PairForm({ORDINARY: 2.0}, -1.0), step, (), is_table=False)

    def read(form: PairForm) -> tuple[Any, float]:
        return row_over(layout, form.weights), form.constant

    second = row_over(layout, {ONE: 1.0}) if gated else None
    units = clipped(layout, [own], 4, gain, read, second)
    assert units.clips == (own,) and units.sides == 2 and units.gate.shape == (4, layout.variables)
    for ordinary, added in ((1.0, step), (0.5, 0.0), (0.0, 0.0)):  # the sum is 2·ordinary - 1
        v = np.zeros(layout.variables)
        v[layout.place[ONE]], v[layout.place[ORDINARY]] = 1.0, ordinary
        z = units.gate @ v + units.gate_constants
        if units.up is None:
            hidden = np.maximum(z, 0)
        else:
            hidden = silu(z) * (units.up @ v)
        written = units.down @ hidden
        assert written[layout.place[target]] == pytest.approx(added, abs=1e-10)
        assert np.count_nonzero(np.abs(written) > 1e-9) == (added != 0)
