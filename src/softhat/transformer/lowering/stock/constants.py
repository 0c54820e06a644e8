"""Large constants of comparisons, told by positions instead of digits.

The mean of Σ a·bit - (c - 1/2)·bos over j <= i needs a value at `<bos>` as large as the constant:
it has too many digits for bfloat16 from 128 on, and next to it the counts are small. But a sum
that rises by at most h a position cannot reach c before c/h positions have passed. So

    Σ >= c  iff  Σ - h·#(i <= m) >= c - h·m,  m = (c - 1) div h:

up to m the right side, which is at least 1, is out of reach of the left, which is at most 0, and
from there on #(i <= m) is m. Constants below 0 are mirrored. Positions are learned, so `i <= m` is
a coordinate like any other.
"""

from __future__ import annotations

from softhat.program.counting import extremes
from softhat.program.draft import Draft
from softhat.program.heads import Average, Sign
from softhat.program.inputs import PositionAtLeast
from softhat.program.literals import Literal
from softhat.program.signals import Program, Signal
from softhat.program.strict import rewritten


def within_reach(
    program: Draft | Program, sign: Sign, context: int
) -> tuple[tuple[tuple[int, int], ...], int, int, int]:
    """A comparison of past counts as Σ a·bit >= c: the terms (a, bit), how much the sum falls and
    rises a position at the most, and c, no further from 0 than words of this context tell."""
    assert sign.past is not None
    average = program.signals[sign.past]
    assert isinstance(average, Average)
    terms = average.terms
    if sign.position:
        terms = (*terms, (sign.position, -1))
    low, high = extremes(program, terms)
    low, high = min(low, 0), max(high, 0)
    most = context - 1
    return terms, low, high, max(min(sign.threshold, most * high + 1), most * low)


def told_by_positions(program: Program, context: int) -> Program:
    """The same outputs for words of a decoder with this context, with small constants."""

    def rule(draft: Draft, signal: Signal, label: str) -> Literal:
        if not isinstance(signal, Sign) or signal.past is None:
            return draft.add(signal, label)
        terms, low, high, c = within_reach(draft, signal, context)
        if abs(c - 0.5) > max(high, -low, 0.5):
            step, m = (high, (c - 1) // high) if c > 0 else (low, -c // -low)
            early = draft.add(PositionAtLeast(-1, -m), f"i <= {m}")
            terms = (*terms, (-step, early.signal))
            c -= step * m
        mean = draft.add(Average(terms, "past"), draft.labels[signal.past])
        return draft.add(Sign(mean.signal, None, None, 0, 0, c), label)

    return rewritten(program, rule)
