"""The heads and gates of a GPT-2 export as linear forms over pairs, each with its theorem.

A form reads pairs of the residual stream by their value v = (x₊ - x₋)/2. The score of key j for
query i is Σ_r query_r(x_i)·key_r(x_j)/√d_head; √d_head, a power of two, is part of the queries.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor, log2, sqrt

from softhat.program.heads import Latest, Previous, Recall, Shift
from softhat.program.literals import Literal
from softhat.program.registers import Register, read
from softhat.program.schedule import Term
from softhat.transformer.lowering.gpt2.layout import (
    BOS_PAIR,
    ONE,
    ORDINARY,
    GPT2HeadPlan,
    Key,
    Layout,
    PlannedCount,
    bit,
    earlier_bit,
    mean_of,
)

SHARPNESS = 32.0
"""C: neighbours' scores differ by C. A leak of e^-32 is far below the roundoff of float32, so a
head that looks something up returns exactly 0 or 1 even in bfloat16."""
RECALL_SHARPNESS = 512.0
"""C of a Recall: its scores are large beside C, and so are their errors. With a larger C less of a
step must be left of them."""
MIDDLE_BITS = 8
"""Significant digits of bfloat16."""
DECISION = 512.0
"""The least |score| of a Sign head: enough even if nine tenths of the mean are rounding error."""


@dataclass(slots=True)
class PairForm:
    """A linear form: weights on pairs, and a constant."""

    weights: dict[Key, float] = field(default_factory=dict)
    constant: float = 0.0

    def plus(self, other: PairForm, factor: float = 1.0) -> PairForm:
        weights = dict(self.weights)
        for key, w in other.weights.items():
            weights[key] = weights.get(key, 0.0) + factor * w
        return PairForm(weights, self.constant + factor * other.constant)

    def times(self, factor: float) -> PairForm:
        return PairForm().plus(self, factor)


def bit_of(layout: Layout, literal: Literal) -> PairForm:
    """A stored bit as 0 or 1, or its negation, which is 0 at `<bos>` too."""
    if literal.signal < 0:
        return PairForm({ORDINARY: 1.0} if literal.positive else {})
    stored = PairForm({Register(literal.signal, False): 0.5}).plus(one(layout, 0.5))
    return stored if literal.positive else PairForm({ORDINARY: 1.0}).plus(stored, -1.0)


def one(layout: Layout, size: float) -> PairForm:
    """A constant; in a dense layout read off the pair that is always 1, so that LayerNorm's error
    of scale multiplies a whole form, and what is 0 stays 0."""
    return PairForm({ONE: size}) if layout.dense else PairForm(constant=size)


def conjunction(layout: Layout, term: Term, layer: int, is_key: bool = False) -> PairForm:
    """Theorem 16. Σ literals - (k - 1) is 1 if all hold, and <= 0 if not and at `<bos>`.

    A literal is a stored bit, 0 at `<bos>`; its negation `ordinary - bit`; a raw output o as
    o + ordinary - 1, or negated as ordinary - o, which are <= 0 at `<bos>`. In a term of a recall's
    key that reads stored bits, one of them not negated, 1 - bit serves as well as ordinary - bit:
    fewer summands round less."""
    total = PairForm(constant=1.0 - len(term))
    reads_raw = any(read(layout.stored, literal.signal, layer).raw for literal in term)
    if is_key and not reads_raw and any(literal.positive for literal in term):
        signs: dict[Key, float] = {
            Register(x.signal, False): 0.5 if x.positive else -0.5 for x in term
        }
        return PairForm(signs, 1.0 - len(term) / 2)
    for literal in term:
        if read(layout.stored, literal.signal, layer).raw:
            raw = PairForm({Register(literal.signal, True): 0.5 / layout.amplitude}, 0.5)
            ordinary = PairForm({ORDINARY: 1.0})
            if literal.positive:
                total = total.plus(ordinary).plus(raw)
                total.constant -= 1.0
            else:
                total = total.plus(ordinary).plus(raw, -1.0)
        else:
            total = total.plus(bit_of(layout, literal))
    return _short_constant(total)


def scores(layout: Layout, head: GPT2HeadPlan) -> tuple[list[PairForm], list[PairForm]]:
    match head.kind:
        case "Latest":
            assert head.bad is not None
            return latest(layout, head.bad)
        case "Recall":
            return recall(layout, head)
        case "Previous" | "Shift":
            return earlier(layout, head.distance)
        case "Sign":
            return sign(layout, head.signals[0])
        case "Average":
            return [], []


def latest(layout: Layout, bad: Literal) -> tuple[list[PairForm], list[PairForm]]:
    """Theorem 17. Softmax of C(j - m) - 1.25·2^B·C·bad_j over j <= i, B the bits of a position,
    puts all but e^-C/(1 - e^-C) + n·e^(-C·2^B/4) on the last j <= i without bad: `<bos>` is never
    bad, the others without bad lose C a step, and those with bad lie C·2^B/4 below all without.
    Scores without bad are whole multiples of C. The middle m is 2^(B-1), or 2^8 in longer
    contexts: bfloat16, where eager attention stores scores in it, holds 2^8 multiples of C on
    either side. (A dense layout is for float32 alone, and keeps its scores small.)"""
    penalty = 1.25 * 2.0**layout.bits * SHARPNESS
    pairs: list[tuple[float, PairForm]] = [
        (SHARPNESS * 2.0 ** (b - 1), PairForm({bit(b): 1.0})) for b in range(layout.bits)
    ]
    pairs[0] = (SHARPNESS / 2, pairs[0][1].plus(one(layout, -1.0)))  # Σ is now j - 2^(B-1)
    if layout.bits > MIDDLE_BITS + 1 and not layout.dense:
        beyond = 2.0 ** (layout.bits - 1) - 2.0**MIDDLE_BITS
        pairs.append((SHARPNESS * beyond, one(layout, 1.0)))
    pairs.append((-penalty, bit_of(layout, bad)))
    key_scale = _key_scale(penalty)
    query_scale = sqrt(layout.d_head) / key_scale
    return (
        [PairForm(constant=weight * query_scale) for weight, _ in pairs],
        [form.times(key_scale) for _, form in pairs],
    )


def recall(layout: Layout, head: GPT2HeadPlan) -> tuple[list[PairForm], list[PairForm]]:
    """Theorem 38. Let T(j) = C(j - (2^B - 1)/2) and P = C·2^B + 2c. Softmax of T(j) less P for each
    digit of j that is not i's, and P·bad_j, on the word, and of T(0) - c on `<bos>`, puts all but
    e^-C/(1 - e^-C) + n·e^-c on the last j <= i without bad that has i's code, and on `<bos>` if
    there is none: such keys have T(j), and lose C a step; `<bos>` lies c or more below them, and c
    or more above every other key, which has at most T(j) - P. A digit is compared by two products,
    q(1 - k) and (1 - q)k, which are 0 where it is the same: so what is large never cancels. There
    are no biases: LayerNorm's error of scale is one factor of a whole score, which is small at the
    keys that may win."""
    span = RECALL_SHARPNESS * 2.0**layout.bits
    clear = max(span / 8, 2 * RECALL_SHARPNESS)
    penalty = span + 2 * clear
    pairs: list[tuple[PairForm, PairForm]] = []

    def add(weight: float, key: PairForm, query: PairForm) -> None:
        key_scale = _key_scale(abs(weight))
        scale = weight / key_scale * sqrt(layout.d_head)
        pairs.append((query.times(scale), key.times(key_scale)))

    always = PairForm({ONE: 1.0})
    for b in range(layout.bits):
        add(RECALL_SHARPNESS * 2.0 ** (b - 1), PairForm({bit(b): 1.0}), always)
    for query, key in zip(head.queries, head.keys, strict=True):
        add(-penalty, held(~key), held(query))
        add(-penalty, held(key), held(~query))
    add(-clear, PairForm({BOS_PAIR: 1.0}), always)
    assert head.bad is not None
    if head.bad.signal >= 0:
        add(-penalty, held(head.bad), always)
    return [query for query, _ in pairs], [key for _, key in pairs]


def held(literal: Literal) -> PairForm:
    """A stored bit as 0 or 1, or its negation, 0 at `<bos>`; without a constant."""
    stored = Register(literal.signal, False)
    if literal.positive:
        return PairForm({stored: 0.5, ONE: 0.5})
    return PairForm({stored: -0.5, ORDINARY: 0.5, BOS_PAIR: -0.5})


def earlier(layout: Layout, distance: int) -> tuple[list[PairForm], list[PairForm]]:
    """Theorem 18. Softmax of (C/2)·Σ_b bit_b(i-D)·bit_b(j), with ±1 bits, puts all but
    (1 + e^-C)^B - 1 on j = i-D (`<bos>` for i <= D, where i-D is taken as 0): each digit that
    differs costs C, and at most binom(B, h) positions differ in h digits. Scores stay small: exact
    in every format."""
    query_scale = sqrt(layout.d_head) * SHARPNESS / 2
    return (
        [PairForm({earlier_bit(b, distance): query_scale}) for b in range(layout.bits)],
        [PairForm({bit(b): 1.0}) for b in range(layout.bits)],
    )


def sign(layout: Layout, signal: int) -> tuple[list[PairForm], list[PairForm]]:
    """Theorem 20. Softmax of S·x_i on ordinary j and of 0 on `<bos>` gives the ordinary positions
    all but e^-512 of the weight if x_i > 0, and at most n·e^-512 if x_i < 0: the mean x_i =
    (Σcounts - c + 1/2)/(V(i+1)) has |x_i| >= 1/(2V·2^B), and S = 2V·2^B·512."""
    least = 2.0 * layout.counts[signal].scale * (1 << layout.bits)
    total = DECISION * least * sqrt(layout.d_head)
    key_scale = _key_scale(total / layout.mean_amplitude)
    return (
        [PairForm({mean_of(signal): total / key_scale / layout.mean_amplitude})],
        [PairForm({ORDINARY: key_scale})],
    )


def value(layout: Layout, head: GPT2HeadPlan, signal: int) -> PairForm:
    match head.kind, layout.program.signals[signal]:
        case "Average", _:
            return _averaged(layout, layout.counts[signal])
        case "Sign", _:
            return PairForm({ORDINARY: 1.0})
        case _, (
            Latest(_, value, _) | Previous(value, _) | Shift(value, _, _) | Recall(_, _, _, value)
        ):
            return bit_of(layout, value)
    raise TypeError(f"not a head: {head!r}")


def _averaged(layout: Layout, count: PlannedCount) -> PairForm:
    """(Σ a·bit)/V on ordinary positions and -(c - 1/2)/V on `<bos>`, so that the mean over j <= i
    is (Σcounts - c + 1/2)/(V(i+1)), rounded once."""
    total = PairForm({BOS_PAIR: -(count.threshold - 0.5)})
    for a, source in count.terms:
        if source < 0:  # true is 1 less <bos>: no error except at <bos>
            total = total.plus(PairForm({BOS_PAIR: -1.0}, 1.0), float(a))
        else:
            total = total.plus(bit_of(layout, Literal(source, True)), float(a))
    return total.times(1.0 / count.scale)


def _key_scale(total: float) -> float:
    """A power of two that shares a large product between query and key: half-precision formats
    have little range."""
    return 2.0 ** (ceil(log2(total)) // 2)


def _short_constant(form: PairForm) -> PairForm:
    """The constant's whole part goes through the pair that is always 1: a bias such as -100.75
    has too many digits for bfloat16."""
    whole = float(floor(form.constant))
    return PairForm({**form.weights, ONE: whole}, form.constant - whole) if abs(whole) > 8 else form
