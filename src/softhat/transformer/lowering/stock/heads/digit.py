"""Digit: a binary digit of the position, by the sign of a sine."""

from __future__ import annotations

from math import cos, pi, sin, sqrt
from typing import TYPE_CHECKING

from softhat.transformer.lowering.llama.rotary import SHARPNESS
from softhat.transformer.lowering.stock.forms import PairForm, key_scale
from softhat.transformer.lowering.stock.heads.kind import LoweredKind, Rows, constant
from softhat.transformer.lowering.stock.plan import BOS_PAIR, StockHeadPlan

if TYPE_CHECKING:
    from softhat.transformer.lowering.llama.layout import KeyGroup, LlamaLayout


def queries(layout: LlamaLayout, group: KeyGroup, head: StockHeadPlan) -> Rows:
    """Theorem 26. `<bos>` has the score 2C·2^b·sin(π(i + 1/2)/2^b), all others 0; its sign is that
    of digit b of i (negative iff the digit is 1), and its size at least 2C: sin x >= 2x/π to
    π/2."""
    b = head.digit
    total = 2 * SHARPNESS * 2.0**b * sqrt(layout.rotary.head_dim) / _scale(b)
    half = pi / 2 ** (b + 1)
    at = layout.rotary.half_turn(b)
    return {(at, 0): constant(total * sin(half)), (at, 1): constant(-total * cos(half))}


def keys(layout: LlamaLayout, head: StockHeadPlan) -> Rows:
    return {(layout.rotary.half_turn(head.digit), 0): PairForm({BOS_PAIR: _scale(head.digit)})}


def _scale(b: int) -> float:
    return key_scale(2.0**b * SHARPNESS)


DIGIT = LoweredKind(queries=queries, keys=keys, own_keys=True)
