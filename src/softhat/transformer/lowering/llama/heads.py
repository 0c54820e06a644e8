"""The queries and keys of a Llama export, each with its theorem.

A row is (pair, side) with a linear form: side 0 and 1 are the two coordinates of a rotary pair. The
score of key j for query i is the sum over pairs of Re(q·conj(k)·e^(iω(i - j)))/√head_dim, whose
root, a power of two, is part of the queries.
"""

from __future__ import annotations

from math import ceil, cos, log2, pi, sin, sqrt

from softhat.program.literals import Literal
from softhat.transformer.lowering.gpt2.heads import DECISION, PairForm, held
from softhat.transformer.lowering.gpt2.layout import BOS_PAIR, ONE, ORDINARY, bit, mean_of
from softhat.transformer.lowering.llama.layout import KeyGroup, LlamaHeadPlan, LlamaLayout, bit_of
from softhat.transformer.lowering.llama.rotary import (
    DIGIT_SHARPNESS,
    RECALL_SHARPNESS,
    SHARPNESS,
    SHIFT_SHARPNESS,
)

Rows = dict[tuple[int, int], PairForm]


def keys(layout: LlamaLayout, group: KeyGroup) -> Rows:
    """The rows of a group's keys: each kind of head reads its own."""
    rotary, kinds = layout.rotary, {head.kind for head in group.heads}
    rows: Rows = {}
    for b in sorted({head.digit for head in group.heads if head.kind == "Digit"}):
        rows[rotary.half_turn(b), 0] = PairForm({BOS_PAIR: _digit_scale(layout, b)})
    if rotary.positions == "rope" and kinds & {"Latest", "Previous"}:
        rows[2, 0] = PairForm({ONE: _key_scale(rotary.steepness)})
    if "Previous" in kinds:
        for b in range(rotary.digits if rotary.positions == "bits" else 1):
            rows[rotary.half_turn(b), 0] = PairForm({ONE: 1.0})
    if "Shift" in kinds:
        for pair, _, size in rotary.turns:
            rows[pair, 0] = PairForm({ORDINARY: _key_scale(size)})
    if "Recall" in kinds:
        (head,) = group.heads
        return {(pair, 0): key for pair, (_, key) in recall(layout, head).items()}
    if rotary.positions == "bits" and "Latest" in kinds:
        for b in range(rotary.digits):
            rows[rotary.digit_pair(b), 0] = PairForm({bit(b): _key_scale(2.0**b)})
    for at, form in enumerate(group.contents):
        rows[rotary.content[at], 0] = form.times(_content_scale(layout, form))
    return rows


def queries(layout: LlamaLayout, group: KeyGroup, head: LlamaHeadPlan) -> Rows:
    match head.kind:
        case "Latest":
            assert head.bad is not None
            return latest(layout, group, head.bad)
        case "Recall":
            return {(pair, 0): query for pair, (query, _) in recall(layout, head).items()}
        case "Previous":
            return previous(layout)
        case "Shift":
            return shift(layout, group, head.distance)
        case "Sign":
            return sign(layout, group, head.signals[0])
        case "Digit":
            return digit(layout, head.digit)
        case "Average":
            return {}


def latest(layout: LlamaLayout, group: KeyGroup, bad: Literal) -> Rows:
    """Theorem 24. Over j <= i, softmax of T - P·bad_j, where T falls by at least C a step back and
    by less than P - 2C in all, puts all but e^-C/(1 - e^-C) + n·e^-2C on the last j without bad
    (`<bos>` is never bad). T is -S·sin(w(i - j) - wN/2), S·w·cos(wN/2) >= C, or in *bits* the
    number j itself, C·Σ_b 2^b·digit_b(j)."""
    rotary = layout.rotary
    root = sqrt(rotary.head_dim)
    rows: Rows = {}
    if rotary.positions == "rope":
        total = rotary.steepness * root / _key_scale(rotary.steepness)
        half = rotary.slow * rotary.context / 2
        rows[2, 0], rows[2, 1] = _constant(total * sin(half)), _constant(total * cos(half))
    else:
        for b in range(rotary.digits):
            weight = rotary.sharpness * 2.0 ** (b - 1) * root / _key_scale(2.0**b)
            rows[rotary.digit_pair(b), 0] = _constant(weight)
    form = bit_of(bad)
    pair = rotary.content[group.contents.index(form)]
    rows[pair, 0] = _constant(-rotary.penalty * root / _content_scale(layout, form))
    return rows


def recall(layout: LlamaLayout, head: LlamaHeadPlan) -> dict[int, tuple[PairForm, PairForm]]:
    """Theorem 38 by slow pairs: T(j) = C(j - (2^B - 1)/2) from the digits of positions, less P for
    each value of a digit that j has and i has not (`with_both_values`), P·bad_j, and c on `<bos>`.
    What rules a key out is a bit that holds there, and rests where it does not (`resting`): so
    every product but T's is exactly 0 at the keys that may win, in every format."""
    rotary = layout.rotary
    span = RECALL_SHARPNESS * 2.0**rotary.digits
    clear = max(span / 8, 2 * RECALL_SHARPNESS)
    rows: dict[int, tuple[PairForm, PairForm]] = {}

    def add(pair: int, weight: float, key: PairForm, query: PairForm) -> None:
        scale = _key_scale(abs(weight))
        rows[pair] = query.times(weight / scale * sqrt(rotary.head_dim)), key.times(scale)

    always = PairForm({ONE: 1.0})
    for b in range(rotary.digits):
        weight = RECALL_SHARPNESS * 2.0 ** (b - 1)
        add(rotary.digit_pair(b), weight, PairForm({bit(b): 1.0}), always)
    for at, (query, key) in enumerate(zip(head.queries, head.keys, strict=True)):
        add(rotary.code_pair(at), -span - 2 * clear, held(key), held(~query))
    add(rotary.content[0], -clear, PairForm({BOS_PAIR: 1.0}), always)
    assert head.bad is not None
    if head.bad.signal >= 0:
        add(rotary.content[1], -span - 2 * clear, held(head.bad), always)
    return rows


def previous(layout: LlamaLayout) -> Rows:
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
            rows[at, 0], rows[at, 1] = _constant(size * cos(angle)), _constant(-size * sin(angle))
        return rows
    total = rotary.steepness * root / _key_scale(rotary.steepness)
    half = rotary.slow * rotary.context / 2
    rows[2, 0], rows[2, 1] = _constant(total * sin(half)), _constant(total * cos(half))
    nearer = rotary.recency(0) - rotary.recency(1)
    size = 1.05 * (rotary.sharpness + nearer) / (1 - cos(1)) * root
    rows[0, 0], rows[0, 1] = _constant(size * cos(1)), _constant(-size * sin(1))
    return rows


def shift(layout: LlamaLayout, group: KeyGroup, distance: int) -> Rows:
    """Theorem 39. Softmax of Σ_p R_p·cos(ω_p(i - j - D)) on the word's own positions and of
    ΣR - C on `<bos>`, where every other distance loses 2C (`Rotary.turns`): all but n·e^-C is on
    j = i-D, and on `<bos>` where there is no such position. Keys are 0 at `<bos>` in those pairs,
    so that how far away it is does not matter; its own score stands in a slow pair."""
    root = sqrt(layout.rotary.head_dim)
    rows: Rows = {}
    for pair, frequency, size in layout.rotary.turns:
        total, angle = size * root / _key_scale(size), frequency * distance
        rows[pair, 0], rows[pair, 1] = _constant(total * cos(angle)), _constant(-total * sin(angle))
    form = PairForm({BOS_PAIR: 1.0})
    own = sum(size for _, _, size in layout.rotary.turns) - SHIFT_SHARPNESS
    pair = layout.rotary.content[group.contents.index(form)]
    rows[pair, 0] = _constant(own * root / _content_scale(layout, form))
    return rows


def sign(layout: LlamaLayout, group: KeyGroup, signal: int) -> Rows:
    """Theorem 20. Softmax of S·x_i on ordinary j and of 0 on `<bos>` gives the ordinary positions
    all but e^-512 of the weight if x_i > 0, and at most n·e^-512 if x_i < 0: the mean x_i =
    (Σcounts - c + 1/2)/(V(i+1)) has |x_i| >= 1/(2V·2^B), and S = 2V·2^B·512."""
    form = PairForm({ORDINARY: 1.0})
    pair = layout.rotary.content[group.contents.index(form)]
    weight = _decision(layout, signal) / _content_scale(layout, form) / layout.mean_amplitude
    return {(pair, 0): PairForm({mean_of(signal): weight})}


def digit(layout: LlamaLayout, b: int) -> Rows:
    """Theorem 26. `<bos>` has the score 2C·2^b·sin(π(i + 1/2)/2^b), all others 0; its sign is that
    of digit b of i (negative iff the digit is 1), and its size at least 2C: sin x >= 2x/π to
    π/2."""
    total = 2 * SHARPNESS * 2.0**b * sqrt(layout.rotary.head_dim) / _digit_scale(layout, b)
    half = pi / 2 ** (b + 1)
    at = layout.rotary.half_turn(b)
    return {(at, 0): _constant(total * sin(half)), (at, 1): _constant(-total * cos(half))}


def _constant(weight: float) -> PairForm:
    return PairForm({ONE: weight})


def _decision(layout: LlamaLayout, signal: int) -> float:
    least = 2.0 * layout.counts[signal].scale * (1 << layout.rotary.digits)
    return DECISION * least * sqrt(layout.rotary.head_dim)


def _content_scale(layout: LlamaLayout, form: PairForm) -> float:
    """A large product is shared between query and key: half-precision formats have little range."""
    if form == PairForm({ORDINARY: 1.0}):
        largest = max((_decision(layout, signal) for signal in layout.counts), default=1.0)
        return _key_scale(max(largest / layout.mean_amplitude, layout.rotary.penalty))
    if form == PairForm({BOS_PAIR: 1.0}):
        return _key_scale(sum(size for _, _, size in layout.rotary.turns))
    return _key_scale(layout.rotary.penalty)


def _digit_scale(layout: LlamaLayout, b: int) -> float:
    return _key_scale(2.0**b * SHARPNESS)


def _key_scale(total: float) -> float:
    """A power of two, about the root."""
    return 2.0 ** (max(0, ceil(log2(total))) // 2)
