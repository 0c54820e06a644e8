"""Random words refute most implications before their form is looked at.

Each formula has a truth signal on one fixed tape of words, computed once from its operands' and
kept in the node. Everything without operands but constants and ends, comparisons of counts, and
recalls, are arbitrary there (a comparison and its negation are opposite): an implication that
follows from the form of formulas holds for arbitrary operands, so on this tape too, and none is
lost.
"""

from __future__ import annotations

from hashlib import shake_128

import numpy as np

from softhat.logic.semantics.tape import tape_of
from softhat.logic.semantics.truth import step
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Comparison, Formula

_LENGTHS = np.array([1, 2, 3, *[4, 6, 8] * 8, 16, 24, 48, 96])
"""Short words for what ends decide, long ones for chains of `Y`."""
_TAPE = tape_of(_LENGTHS)
_BYTES = (_TAPE.size + 7) // 8
_SPARSE, _DENSE = (  # two words in three, three quarters of whose symbols are the same
    _TAPE.to_signal(np.repeat(np.arange(len(_LENGTHS)) % 3 == kind, _LENGTHS + 1)) & _TAPE.inside
    for kind in (0, 1)
)
_FIXED = nodes.Constant | nodes.First | nodes.Last
_NEGATIVE = {"<": ">=", "<=": ">", "!=": "="}


def refuted(f: Formula, g: Formula) -> bool:
    """Does f hold somewhere on the tape where g does not?"""
    return signal(f) & ~signal(g) != 0


def together(f: Formula, g: Formula) -> bool:
    """Do both hold somewhere on the tape?"""
    return signal(f) & signal(g) != 0


def neither(f: Formula, g: Formula) -> bool:
    """Does neither hold somewhere on the tape?"""
    return signal(f) | signal(g) != _TAPE.inside


def signal(formula: Formula) -> int:
    """Where it holds on the tape."""
    known: int | None = getattr(formula, "_signal", None)
    if known is not None:
        return known
    stack = [formula]
    while stack:
        last = stack[-1]
        below = [part for part in last.children if isinstance(part, Formula)]
        missing = [part for part in below if not hasattr(part, "_signal")]
        if missing:
            stack += missing
            continue
        stack.pop()
        match last:
            case Comparison(left, relation, right):
                kind = _NEGATIVE.get(relation, relation)
                bits = _random(hash((kind, left, right)))
                if kind != relation:
                    bits ^= _TAPE.inside
            case nodes.Recall():  # arbitrary, as a comparison is
                bits = _random(last._hash)
            case _ if below or isinstance(last, _FIXED):
                bits = step(last, [part._signal for part in below], _TAPE, _no_symbol)
            case _:
                bits = _random(last._hash)
        object.__setattr__(last, "_signal", bits)
    return formula._signal


def _random(seed: int) -> int:
    """Random places: half of them in some words, a quarter or three quarters in others."""
    drawn = shake_128(seed.to_bytes(8, "little", signed=True)).digest(2 * _BYTES)
    one = int.from_bytes(drawn[:_BYTES], "little")
    two = int.from_bytes(drawn[_BYTES:], "little")
    return (one & (two | ~_SPARSE) | two & _DENSE) & _TAPE.inside


def _no_symbol(name: str) -> int:
    raise AssertionError(f"the symbol {name!r} has a signal of its own")
