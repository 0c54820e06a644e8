"""Shift: the value a fixed number of positions before."""

from __future__ import annotations

from math import cos, sin, sqrt
from typing import TYPE_CHECKING

from softhat.transformer.lowering.llama.rotary import DISTANCE_SHARPNESS
from softhat.transformer.lowering.stock.forms import PairForm, key_scale
from softhat.transformer.lowering.stock.heads.kind import Learned, LoweredKind, Rows, constant
from softhat.transformer.lowering.stock.heads.latest import SHARPNESS
from softhat.transformer.lowering.stock.heads.scales import content_scale
from softhat.transformer.lowering.stock.plan import (
    BOS_PAIR,
    ORDINARY,
    StockHeadPlan,
    bit,
    earlier_bit,
)

if TYPE_CHECKING:
    from softhat.transformer.lowering.gpt2.layout import Layout
    from softhat.transformer.lowering.llama.layout import KeyGroup, LlamaLayout


def learned(layout: Layout, head: StockHeadPlan) -> Learned:
    """Theorem 18. Softmax of (C/2)·Σ_b bit_b(i-D)·bit_b(j), with ±1 bits, puts all but
    (1 + e^-C)^B - 1 on j = i-D (`<bos>` for i <= D, where i-D is taken as 0): each digit that
    differs costs C, and at most binom(B, h) positions differ in h digits. Scores stay small: exact
    in every format."""
    query_scale = sqrt(layout.d_head) * SHARPNESS / 2
    return (
        [PairForm({earlier_bit(b, head.distance): query_scale}) for b in range(layout.digits)],
        [PairForm({bit(b): 1.0}) for b in range(layout.digits)],
    )


def queries(layout: LlamaLayout, group: KeyGroup, head: StockHeadPlan) -> Rows:
    """Theorem 39. Softmax of Σ_p R_p·cos(ω_p(i - j - D)) on the word's own positions and of
    ΣR - C on `<bos>`, where every other distance loses 2C (`Rotary.turns`): all but n·e^-C is on
    j = i-D, and on `<bos>` where there is no such position. Keys are 0 at `<bos>` in those pairs,
    so that how far away it is does not matter; its own score stands in a slow pair."""
    root = sqrt(layout.rotary.head_dim)
    rows: Rows = {}
    for pair, frequency, size in layout.rotary.turns:
        total, angle = size * root / key_scale(size), frequency * head.distance
        rows[pair, 0], rows[pair, 1] = constant(total * cos(angle)), constant(-total * sin(angle))
    form = content(head)
    own = sum(size for _, _, size in layout.rotary.turns) - DISTANCE_SHARPNESS
    pair = layout.rotary.content[group.contents.index(form)]
    rows[pair, 0] = constant(own * root / content_scale(layout, form))
    return rows


def keys(layout: LlamaLayout, head: StockHeadPlan) -> Rows:
    return {
        (pair, 0): PairForm({ORDINARY: key_scale(size)}) for pair, _, size in layout.rotary.turns
    }


def content(head: StockHeadPlan) -> PairForm:
    return PairForm({BOS_PAIR: 1.0})


SHIFT = LoweredKind(learned, queries, keys, content, own_keys=True)
