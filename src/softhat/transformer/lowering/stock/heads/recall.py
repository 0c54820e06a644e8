"""Recall: the value at the last key that has the query's code."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from softhat.transformer.lowering.stock.forms import ALWAYS, PairForm, held, key_scale
from softhat.transformer.lowering.stock.heads.kind import Learned, LoweredKind, Rows
from softhat.transformer.lowering.stock.plan import BOS_PAIR, StockHeadPlan, bit

if TYPE_CHECKING:
    from softhat.transformer.lowering.gpt2.layout import Layout
    from softhat.transformer.lowering.llama.layout import KeyGroup, LlamaLayout

SHARPNESS = 512.0
"""C of a Recall: its scores are large beside C, and so are their errors. With a larger C less of a
step must be left of them."""
TURNED_SHARPNESS = 64.0
"""The same where every product but that of positions is exactly 0 at the keys that may win."""


def learned(layout: Layout, head: StockHeadPlan) -> Learned:
    """Theorem 38. Let T(j) = C(j - (2^B - 1)/2) and P = C·2^B + 2c. Softmax of T(j) less P for each
    digit of j that is not i's, and P·bad_j, on the word, and of T(0) - c on `<bos>`, puts all but
    e^-C/(1 - e^-C) + n·e^-c on the last j <= i without bad that has i's code, and on `<bos>` if
    there is none: such keys have T(j), and lose C a step; `<bos>` lies c or more below them, and c
    or more above every other key, which has at most T(j) - P. A digit is compared by two products,
    q(1 - k) and (1 - q)k, which are 0 where it is the same: so what is large never cancels. There
    are no biases: LayerNorm's error of scale is one factor of a whole score, which is small at the
    keys that may win."""
    span = SHARPNESS * 2.0**layout.digits
    clear = max(span / 8, 2 * SHARPNESS)
    penalty = span + 2 * clear
    pairs: list[tuple[PairForm, PairForm]] = []

    def add(weight: float, key: PairForm, query: PairForm) -> None:
        scale = key_scale(abs(weight))
        asked = query.times(weight / scale * sqrt(layout.d_head))
        pairs.append((asked, key.times(scale)))

    for b in range(layout.digits):
        add(SHARPNESS * 2.0 ** (b - 1), PairForm({bit(b): 1.0}), ALWAYS)
    for query, key in zip(head.queries, head.keys, strict=True):
        add(-penalty, held(~key), held(query))
        add(-penalty, held(key), held(~query))
    add(-clear, PairForm({BOS_PAIR: 1.0}), ALWAYS)
    assert head.bad is not None
    if head.bad.signal >= 0:
        add(-penalty, held(head.bad), ALWAYS)
    return [query for query, _ in pairs], [key for _, key in pairs]


def _turned(layout: LlamaLayout, head: StockHeadPlan) -> dict[int, tuple[PairForm, PairForm]]:
    """Theorem 38 by slow pairs: T(j) = C(j - (2^B - 1)/2) from the digits of positions, less P for
    each value of a digit that j has and i has not (`with_both_values`), P·bad_j, and c on `<bos>`.
    What rules a key out is a bit that holds there, and rests where it does not (`resting`): so
    every product but T's is exactly 0 at the keys that may win, in every format."""
    rotary = layout.rotary
    span = TURNED_SHARPNESS * 2.0**rotary.digits
    clear = max(span / 8, 2 * TURNED_SHARPNESS)
    rows: dict[int, tuple[PairForm, PairForm]] = {}

    def add(pair: int, weight: float, key: PairForm, query: PairForm) -> None:
        scale = key_scale(abs(weight))
        rows[pair] = query.times(weight / scale * sqrt(rotary.head_dim)), key.times(scale)

    for b in range(rotary.digits):
        weight = TURNED_SHARPNESS * 2.0 ** (b - 1)
        add(rotary.digit_pair(b), weight, PairForm({bit(b): 1.0}), ALWAYS)
    for at, (query, key) in enumerate(zip(head.queries, head.keys, strict=True)):
        add(rotary.code_pair(at), -span - 2 * clear, held(key), held(~query))
    add(rotary.content[0], -clear, PairForm({BOS_PAIR: 1.0}), ALWAYS)
    assert head.bad is not None
    if head.bad.signal >= 0:
        add(rotary.content[1], -span - 2 * clear, held(head.bad), ALWAYS)
    return rows


def queries(layout: LlamaLayout, group: KeyGroup, head: StockHeadPlan) -> Rows:
    return {(pair, 0): query for pair, (query, _) in _turned(layout, head).items()}


def keys(layout: LlamaLayout, head: StockHeadPlan) -> Rows:
    return {(pair, 0): key for pair, (_, key) in _turned(layout, head).items()}


RECALL = LoweredKind(learned, queries, keys, own_keys=True)
