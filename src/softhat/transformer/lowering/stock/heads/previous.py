"""Previous: the value at the position before; where positions are learned, by their codes."""

from __future__ import annotations

from math import cos, pi, sin, sqrt
from typing import TYPE_CHECKING

from softhat.transformer.lowering.llama.rotary import DIGIT_SHARPNESS
from softhat.transformer.lowering.stock.forms import ALWAYS, key_scale
from softhat.transformer.lowering.stock.heads.kind import LoweredKind, Rows, constant
from softhat.transformer.lowering.stock.heads.latest import recency_keys
from softhat.transformer.lowering.stock.heads.shift import learned
from softhat.transformer.lowering.stock.plan import StockHeadPlan

if TYPE_CHECKING:
    from softhat.transformer.lowering.llama.layout import KeyGroup, LlamaLayout


def queries(layout: LlamaLayout, group: KeyGroup, head: StockHeadPlan) -> Rows:
    """Theorem 25. *rope*: the recency of `latest` and R·cos(i - j - 1), with R(1 - cos 1) >= C plus
    what recency gives j = i over j = i-1: all others lose at least C a step.
    *bits*: (C/2)·Σ_b cos(π(i - j - 1)/2^b) over all digits b: if i - j - 1 is 2^b times an odd
    number, term b loses C, and no term gains. All but n·e^-C is on j = i-1."""
    rotary = layout.rotary
    root = sqrt(rotary.head_dim)
    rows: Rows = {}
    if rotary.positions == "bits":
        for b in range(rotary.digits):
            angle, size = pi / 2**b, DIGIT_SHARPNESS / 2 * root
            # q·e^(iω) with q = e^(-iω): largest at a distance of 1
            at = rotary.half_turn(b)
            rows[at, 0], rows[at, 1] = constant(size * cos(angle)), constant(-size * sin(angle))
        return rows
    total = rotary.steepness * root / key_scale(rotary.steepness)
    half = rotary.slow * rotary.context / 2
    rows[2, 0], rows[2, 1] = constant(total * sin(half)), constant(total * cos(half))
    nearer = rotary.recency(0) - rotary.recency(1)
    size = 1.05 * (rotary.sharpness + nearer) / (1 - cos(1)) * root
    rows[0, 0], rows[0, 1] = constant(size * cos(1)), constant(-size * sin(1))
    return rows


def keys(layout: LlamaLayout, head: StockHeadPlan) -> Rows:
    rotary = layout.rotary
    rows = recency_keys(layout) if rotary.positions == "rope" else {}
    for b in range(rotary.digits if rotary.positions == "bits" else 1):
        rows[rotary.half_turn(b), 0] = ALWAYS
    return rows


PREVIOUS = LoweredKind(learned, queries, keys)
