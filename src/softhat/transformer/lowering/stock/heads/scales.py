"""How large products are shared between queries and keys of a Llama."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from softhat.transformer.lowering.stock.forms import DECISION, PairForm, key_scale
from softhat.transformer.lowering.stock.plan import BOS_PAIR, ORDINARY

if TYPE_CHECKING:
    from softhat.transformer.lowering.llama.layout import LlamaLayout


def decision(layout: LlamaLayout, signal: int) -> float:
    """S·√head_dim of a Sign."""
    least = 2.0 * layout.counts[signal].scale * (1 << layout.rotary.digits)
    return DECISION * least * sqrt(layout.rotary.head_dim)


def content_scale(layout: LlamaLayout, form: PairForm) -> float:
    """The scale of a form that stands on a slow pair."""
    if form == PairForm({ORDINARY: 1.0}):
        largest = max((decision(layout, signal) for signal in layout.counts), default=1.0)
        return key_scale(max(largest / layout.mean_amplitude, layout.rotary.penalty))
    if form == PairForm({BOS_PAIR: 1.0}):
        return key_scale(sum(size for _, _, size in layout.rotary.turns))
    return key_scale(layout.rotary.penalty)
