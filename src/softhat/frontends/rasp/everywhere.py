"""Bits that are the same at every position of a word: those that no position can tell from another.

A head without a mask, whose queries all ask the same, returns the same everywhere; so does what
gates make of such bits, and what depends on the length alone.
"""

from __future__ import annotations

from softhat.program.draft import Draft
from softhat.program.gates import And, Steps, Table, Total, Xor
from softhat.program.heads import At, Average, Match, MatchMean, Sign, Width
from softhat.program.inputs import PositionBit
from softhat.program.literals import Literal
from softhat.program.signals import Signal


def same_everywhere(draft: Draft, literal: Literal) -> bool:
    """Has the literal one value in each word?"""
    known: dict[int, bool] = {-1: True}
    pending = [literal.signal]
    while pending:
        at = pending[-1]
        if at in known:
            pending.pop()
            continue
        asked = _asked(draft.signals[at])
        missing = [] if asked is None else [read for read in asked if read not in known]
        if missing:
            pending += missing
            continue
        known[at] = asked is not None and all(known[read] for read in asked)
        pending.pop()
    return known[literal.signal]


def _asked(signal: Signal) -> tuple[int, ...] | None:
    """The signals that must be the same everywhere for this one to be; None if it never is."""
    match signal:
        case And() | Xor() | Table() | Total() | Steps():
            return signal.reads
        case PositionBit(position=0) | Average(range="total"):
            return ()
        case Sign(position=0, past=None, future=None, total=total):
            return () if total is None else (total,)
        case Match(selector) | MatchMean(selector) | Width(selector) if selector.mask == "none":
            return tuple(query.signal for query in selector.queries)
        case At(mask="none"):
            return tuple(query.signal for query in signal.queries)
    return None
