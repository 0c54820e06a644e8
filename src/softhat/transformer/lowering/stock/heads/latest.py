"""Latest: the value at the last position that is not ruled out."""

from __future__ import annotations

from math import cos, sin, sqrt
from typing import TYPE_CHECKING

from softhat.transformer.lowering.stock.forms import ALWAYS, PairForm, bit_of, key_scale
from softhat.transformer.lowering.stock.heads.kind import Learned, LoweredKind, Rows, constant
from softhat.transformer.lowering.stock.heads.scales import content_scale
from softhat.transformer.lowering.stock.plan import StockHeadPlan, bit

if TYPE_CHECKING:
    from softhat.transformer.lowering.gpt2.layout import Layout
    from softhat.transformer.lowering.llama.layout import KeyGroup, LlamaLayout

SHARPNESS = 32.0
"""C: neighbours' scores differ by C. A leak of e^-32 is far below the roundoff of float32, so a
head that looks something up returns exactly 0 or 1 even in bfloat16."""
MIDDLE_BITS = 8
"""Significant digits of bfloat16."""


def one(layout: Layout, size: float) -> PairForm:
    """A constant; in a dense layout read off the pair that is always 1, so that LayerNorm's error
    of scale multiplies a whole form, and what is 0 stays 0."""
    return ALWAYS.times(size) if layout.dense else PairForm(constant=size)


def learned(layout: Layout, head: StockHeadPlan) -> Learned:
    """Theorem 17. Softmax of C(j - m) - 1.25·2^B·C·bad_j over j <= i, B the bits of a position,
    puts all but e^-C/(1 - e^-C) + n·e^(-C·2^B/4) on the last j <= i without bad: `<bos>` is never
    bad, the others without bad lose C a step, and those with bad lie C·2^B/4 below all without.
    Scores without bad are whole multiples of C. The middle m is 2^(B-1), or 2^8 in longer
    contexts: bfloat16, where eager attention stores scores in it, holds 2^8 multiples of C on
    either side. (A dense layout is for float32 alone, and keeps its scores small.)"""
    assert head.bad is not None
    penalty = 1.25 * 2.0**layout.digits * SHARPNESS
    pairs: list[tuple[float, PairForm]] = [
        (SHARPNESS * 2.0 ** (b - 1), PairForm({bit(b): 1.0})) for b in range(layout.digits)
    ]
    pairs[0] = (SHARPNESS / 2, pairs[0][1].plus(one(layout, -1.0)))  # Σ is now j - 2^(B-1)
    if layout.digits > MIDDLE_BITS + 1 and not layout.dense:
        beyond = 2.0 ** (layout.digits - 1) - 2.0**MIDDLE_BITS
        pairs.append((SHARPNESS * beyond, one(layout, 1.0)))
    pairs.append((-penalty, bit_of(head.bad, one=one(layout, 1.0))))
    scale = key_scale(penalty)
    query_scale = sqrt(layout.d_head) / scale
    return (
        [PairForm(constant=weight * query_scale) for weight, _ in pairs],
        [form.times(scale) for _, form in pairs],
    )


def queries(layout: LlamaLayout, group: KeyGroup, head: StockHeadPlan) -> Rows:
    """Theorem 24. Over j <= i, softmax of T - P·bad_j, where T falls by at least C a step back and
    by less than P - 2C in all, puts all but e^-C/(1 - e^-C) + n·e^-2C on the last j without bad
    (`<bos>` is never bad). T is -S·sin(w(i - j) - wN/2), S·w·cos(wN/2) >= C, or in *bits* the
    number j itself, C·Σ_b 2^b·digit_b(j)."""
    rotary = layout.rotary
    root = sqrt(rotary.head_dim)
    rows: Rows = {}
    if rotary.positions == "rope":
        total = rotary.steepness * root / key_scale(rotary.steepness)
        half = rotary.slow * rotary.context / 2
        rows[2, 0], rows[2, 1] = constant(total * sin(half)), constant(total * cos(half))
    else:
        for b in range(rotary.digits):
            weight = rotary.sharpness * 2.0 ** (b - 1) * root / key_scale(2.0**b)
            rows[rotary.digit_pair(b), 0] = constant(weight)
    form = content(head)
    pair = rotary.content[group.contents.index(form)]
    rows[pair, 0] = constant(-rotary.penalty * root / content_scale(layout, form))
    return rows


def keys(layout: LlamaLayout, head: StockHeadPlan) -> Rows:
    rotary = layout.rotary
    if rotary.positions == "rope":
        return recency_keys(layout)
    return {
        (rotary.digit_pair(b), 0): PairForm({bit(b): key_scale(2.0**b)})
        for b in range(rotary.digits)
    }


def recency_keys(layout: LlamaLayout) -> Rows:
    """Of *rope*: what makes later keys better."""
    return {(2, 0): constant(key_scale(layout.rotary.steepness))}


def content(head: StockHeadPlan) -> PairForm:
    assert head.bad is not None
    return bit_of(head.bad)


LATEST = LoweredKind(learned, queries, keys, content)
