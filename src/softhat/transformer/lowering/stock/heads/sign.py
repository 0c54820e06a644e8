"""Sign: whether a comparison of counts holds, by the sign of their mean."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from softhat.transformer.lowering.stock.forms import DECISION, PairForm, key_scale
from softhat.transformer.lowering.stock.heads.kind import Learned, LoweredKind, Rows
from softhat.transformer.lowering.stock.heads.scales import content_scale, decision
from softhat.transformer.lowering.stock.plan import ORDINARY, StockHeadPlan, mean_of

if TYPE_CHECKING:
    from softhat.transformer.lowering.gpt2.layout import Layout
    from softhat.transformer.lowering.llama.layout import KeyGroup, LlamaLayout


def learned(layout: Layout, head: StockHeadPlan) -> Learned:
    """Theorem 20. Softmax of S·x_i on ordinary j and of 0 on `<bos>` gives the ordinary positions
    all but e^-512 of the weight if x_i > 0, and at most n·e^-512 if x_i < 0: the mean x_i =
    (Σcounts - c + 1/2)/(V(i+1)) has |x_i| >= 1/(2V·2^B), and S = 2V·2^B·512."""
    signal = head.signals[0]
    least = 2.0 * layout.counts[signal].scale * (1 << layout.digits)
    total = DECISION * least * sqrt(layout.d_head)
    scale = key_scale(total / layout.mean_amplitude)
    return (
        [PairForm({mean_of(signal): total / scale / layout.mean_amplitude})],
        [PairForm({ORDINARY: scale})],
    )


def queries(layout: LlamaLayout, group: KeyGroup, head: StockHeadPlan) -> Rows:
    """The same on a slow pair."""
    form, signal = content(head), head.signals[0]
    pair = layout.rotary.content[group.contents.index(form)]
    weight = decision(layout, signal) / content_scale(layout, form) / layout.mean_amplitude
    return {(pair, 0): PairForm({mean_of(signal): weight})}


def content(head: StockHeadPlan) -> PairForm:
    return PairForm({ORDINARY: 1.0})


SIGN = LoweredKind(learned, queries, content=content)
