"""Positions without a table: Llama adds nothing to a token for where it stands.

*rope* has no digits of the position, so `first` becomes "there is no position before" and a
comparison of `i` with a constant becomes a count of all positions. *bits* finds the binary digits
of the position by heads of a block of their own; every predicate of the position is then a gate of
digits, a sum of conjunctions of which at most one holds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.program.counting import extremes
from softhat.program.draft import Draft
from softhat.program.gates import And
from softhat.program.heads import Average, Previous, Sign
from softhat.program.inputs import FirstPosition, PositionIn, PositionMod
from softhat.program.literals import TRUE, Literal
from softhat.program.signals import Program, Signal
from softhat.program.strict import rewritten
from softhat.transformer.lowering.stock.plan import Digits

MOST_TERMS = 8192
"""Conjunctions of digits that one predicate may need."""


def without_positions(program: Program) -> Program:
    """The same outputs by heads alone; a predicate that needs digits is refused."""
    return rewritten(program, _by_heads)


def _by_heads(draft: Draft, signal: Signal, label: str) -> Literal:
    match signal:
        case FirstPosition():
            before = draft.add(Previous(TRUE, "past"), "Y true")
            return draft.add(And((~before,)), label)
        case Sign(None, None, None, coefficient, 0, threshold):
            counted = draft.add(Average(((coefficient, -1),), "past"), f"mean of {coefficient}*i")
            return draft.add(Sign(counted.signal, None, None, 0, 0, threshold), label)
        case PositionMod() | PositionIn():
            raise SofthatError(
                f"positions='rope' has no digits of a position, which {label} needs: use "
                "positions='bits'"
            )
    return draft.add(signal, label)


def within(program: Program, context: int) -> Program:
    """The same on words that fit the context, without large constants: a comparison that none of
    them meets (or misses) becomes -#(f) >= 1 (or #(f) >= 0)."""

    def rule(draft: Draft, signal: Signal, label: str) -> Literal:
        match signal:
            case Sign(int() as past, None, None, position, 0, threshold):
                average = draft.signals[past]
                assert isinstance(average, Average)
                terms = (*average.terms, *([(position, -1)] if position else []))
                low, high = extremes(draft, terms)
                never = threshold > (context - 1) * max(high, 0)
                if never or threshold <= (context - 1) * min(low, 0):
                    sign, source = -1 if never else 1, terms[0][1]
                    same = Average(((sign, source),), "past")
                    counted = draft.add(same, f"mean of {sign}*#({_named(draft, source)})")
                    signal = Sign(counted.signal, None, None, 0, 0, int(never))
        return draft.add(signal, label)

    return rewritten(program, rule)


def _named(draft: Draft, source: int) -> str:
    return draft.labels[source] if source >= 0 else "true"


def conjunctions(holds: NDArray[np.bool_], label: str) -> list[Digits]:
    """A set of positions (of 1 to len - 1) as conjunctions of digits, no two of which can both
    hold: a decision tree over the digits, from the lowest or from the highest, the smaller one."""
    digits = (len(holds) - 1).bit_length()
    known = np.zeros(1 << digits, dtype=np.int8)  # 0: never asked for
    known[1 : len(holds)] = np.where(holds[1:], 1, -1)
    trees = [_tree(known, order) for order in (range(digits), range(digits)[::-1])]
    least = min(trees, key=len)
    if len(least) > MOST_TERMS:
        raise SofthatError(
            f"{label} needs {len(least):,} conjunctions of digits of the position in a context of "
            f"{len(holds):,}, more than {MOST_TERMS:,}: choose a smaller context"
        )
    return least


def _tree(known: NDArray[np.int8], order: range) -> list[Digits]:
    paths: list[Digits] = []
    index = np.arange(len(known))
    pending: list[tuple[NDArray[np.int64], Digits]] = [(index, ())]
    while pending:
        places, path = pending.pop()
        values = known[places]
        if not (values > 0).any():
            continue
        if not (values < 0).any():
            paths.append(path)
            continue
        digit = order[len(path)]
        one = (places >> digit & 1).astype(bool)
        pending.append((places[one], (*path, (digit, True))))
        pending.append((places[~one], (*path, (digit, False))))
    return paths
