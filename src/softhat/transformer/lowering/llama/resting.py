"""Bits by which keys are ruled out, laid out so that they rest where a key is not ruled out.

A gate's bit starts at a constant, and where no term of its gate holds it stays exactly that. Where
one holds, the bit is off by what the gate is off; and what rules a key out is worth more than all
other scores together, so that a small error of the bit is a large one of the score. Keys that are
ruled out have room for it, and keys that compete have none. So the gate of such a bit is written
with terms for the keys that are ruled out: as a cover of its negation where it is not one already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from softhat.program.heads import Latest, Recall
from softhat.program.literals import Literal
from softhat.program.schedule import MOST_TERMS, GateStep, Schedule, Term
from softhat.program.signals import Program


def rested(program: Program, schedule: Schedule) -> Schedule:
    """The same schedule, whose gates of bits that rule out keys rest at those that they do not;
    a bit that rules out by both of its values, or by a large cover, stays as it is."""
    ruling = {signal.bad for signal in program.signals if isinstance(signal, Latest | Recall)}
    for signal in program.signals:
        if isinstance(signal, Recall):
            ruling.update(signal.keys)
    layers = [
        replace(layer, gates=tuple(_rested(gate, ruling) for gate in layer.gates))
        for layer in schedule.layers
    ]
    return replace(schedule, layers=tuple(layers))


def _rested(gate: GateStep, ruling: set[Literal]) -> GateStep:
    """A complement starts as true."""
    starts = gate.complement
    if Literal(gate.signal, starts) not in ruling or Literal(gate.signal, not starts) in ruling:
        return gate
    terms = negated(gate.terms)
    if terms is None:
        return gate
    return replace(gate, terms=terms, complement=not starts)


def negated(terms: Sequence[Term]) -> tuple[Term, ...] | None:
    """Conjunctions of which exactly one holds where none of `terms` does, or None if they are too
    many: a decision tree over the literals."""
    conjunctions: list[Term] = []
    pending: list[tuple[Sequence[Term], Term]] = [(terms, ())]
    while pending:
        left, path = pending.pop()
        if any(not term for term in left):
            continue
        if not left:
            conjunctions.append(path)
            if len(conjunctions) > MOST_TERMS:
                return None
            continue
        asked = left[0][0].signal
        for held in (False, True):
            given = Literal(asked, held)
            rest = [
                tuple(literal for literal in term if literal != given)
                for term in left
                if ~given not in term
            ]
            pending.append((rest, (*path, given)))
    return tuple(conjunctions)
