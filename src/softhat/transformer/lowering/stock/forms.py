"""Linear forms over what the residual stream holds, and those of bits and values.

A form reads variables: pairs of a GPT-2 by their value v = (x₊ - x₋)/2, coordinates of a Llama.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, log2

from softhat.program.literals import Literal
from softhat.program.registers import Register
from softhat.transformer.lowering.stock import plan

DECISION = 512.0
"""The least |score| of a Sign head: enough even if nine tenths of the mean are rounding error."""


@dataclass(slots=True)
class PairForm:
    """A linear form: weights on pairs, and a constant."""

    weights: dict[plan.Key, float] = field(default_factory=dict)
    constant: float = 0.0

    def plus(self, other: PairForm, factor: float = 1.0) -> PairForm:
        weights = dict(self.weights)
        for key, w in other.weights.items():
            weights[key] = weights.get(key, 0.0) + factor * w
        return PairForm(weights, self.constant + factor * other.constant)

    def times(self, factor: float) -> PairForm:
        return PairForm().plus(self, factor)


ALWAYS = PairForm({plan.ONE: 1.0})


def bit_of(literal: Literal, raw: bool = False, one: PairForm = ALWAYS) -> PairForm:
    """A bit as 0 or 1, or its negation, which is 0 at `<bos>` too."""
    if literal.signal < 0:
        return PairForm({plan.ORDINARY: 1.0} if literal.positive else {})
    stored = PairForm({Register(literal.signal, raw): 0.5}).plus(one, 0.5)
    return stored if literal.positive else PairForm({plan.ORDINARY: 1.0}).plus(stored, -1.0)


def held(literal: Literal) -> PairForm:
    """A stored bit as 0 or 1, or its negation, 0 at `<bos>`; without a constant."""
    stored = Register(literal.signal, False)
    if literal.positive:
        return PairForm({stored: 0.5, plan.ONE: 0.5})
    return PairForm({stored: -0.5, plan.ORDINARY: 0.5, plan.BOS_PAIR: -0.5})


def values_of(
    counts: Mapping[int, plan.PlannedCount],
    head: plan.StockHeadPlan,
    one: PairForm = ALWAYS,
    true: PairForm | None = None,
) -> list[PairForm]:
    """What a head's targets are told of each key."""
    if head.kind in ("Digit", "Sign"):
        return [PairForm({plan.ORDINARY: 1.0})] * len(head.targets)
    if head.kind == "Average":
        return [averaged(counts[signal], one, true) for signal in head.signals]
    return [bit_of(value, one=one) for value in head.values]


def averaged(count: plan.PlannedCount, one: PairForm, true: PairForm | None) -> PairForm:
    """(Σ a·bit)/V on ordinary positions and -(c - 1/2)/V on `<bos>`, so that the mean over j <= i
    is (Σcounts - c + 1/2)/(V(i+1)), rounded once."""
    total = PairForm({plan.BOS_PAIR: -(count.threshold - 0.5)})
    for a, source in count.terms:
        term = bit_of(Literal(source, True), one=one)
        total = total.plus(true if source < 0 and true is not None else term, float(a))
    return total.times(1.0 / count.scale)


def key_scale(total: float) -> float:
    """A power of two, about the root, that shares a large product between query and key:
    half-precision formats have little range."""
    return 2.0 ** (max(0, ceil(log2(total))) // 2)
