"""Fewer layers: `Y` over `S` and chains of `Y` as one head, where a head may exclude its query.

`Y(f S g)` is `StrictLatest`, and c times `Y` is `Shift(c)`; a negation between them only adds
that there is a position to look at. `spelled_out` is the way back, for architectures whose only
mask is j <= i; `gathered` goes back as far as those need that have a head for every distance.
"""

from __future__ import annotations

from collections.abc import Callable

from softhat.program.draft import Draft
from softhat.program.gates import And
from softhat.program.heads import Direction, Latest, Previous, Shift, StrictLatest
from softhat.program.literals import Literal
from softhat.program.signals import Program, Signal, moved

FARTHEST = 16
"""Of one Shift: its scores have a row for each residue, so a longer way takes several."""


def strict(program: Program) -> Program:
    """A program with the same outputs in fewer layers."""
    for signal in program.signals:
        if isinstance(signal, Previous):
            at = signal.value.signal
            inner = program.signals[at] if at >= 0 else None
            if _beyond(inner, signal.direction) is not None:
                return rewritten(program, _in_one_head)
    return program


def spelled_out(program: Program) -> Program:
    """A program with the same outputs, without `StrictLatest` and `Shift`."""
    return rewritten(program, _in_several_heads)


def gathered(program: Program) -> Program:
    """The same outputs without `StrictLatest`, and with one `Shift` for a chain of them, however
    far it goes."""
    return rewritten(program, _at_once)


def rewritten(program: Program, rule: Callable[[Draft, Signal, str], Literal]) -> Program:
    """Every signal, its inputs already rewritten, by `rule`, which gives a positive literal."""
    draft = Draft(program.symbols, program.propositional)
    places = {-1: -1}
    for at, signal in enumerate(program.signals):
        places[at] = rule(draft, moved(signal, places), program.labels[at]).signal
    return draft.finish(
        {name: literal.moved(places) for name, literal in program.outputs},
        {name: number.moved(places) for name, number in program.numbers},
    )


def _in_one_head(draft: Draft, signal: Signal, label: str) -> Literal:
    if not isinstance(signal, Previous):
        return draft.add(signal, label)
    head = _beyond(draft.signal(signal.value), signal.direction)
    if head is None:
        return draft.add(signal, label)
    if signal.value.positive:
        return draft.add(head, label)
    # Y !f is that there is a position before, and not Y f.
    edge = draft.edge(signal.direction)
    operator = "Y" if signal.direction == "past" else "X"
    inner = f"{operator} ({draft.labels[signal.value.signal]})"
    return draft.add(And(tuple(sorted((~edge, ~draft.add(head, inner))))), label)


def _beyond(inner: Signal | None, direction: Direction) -> StrictLatest | Shift | None:
    """`inner` as seen from the next position, if that is one head."""
    match inner:
        case Latest(bad, value, same) if same == direction:
            return StrictLatest(bad, value, direction)
        case Previous(value, same) if same == direction:
            return Shift(value, 2, direction)
        case Shift(value, distance, same) if same == direction and distance < FARTHEST:
            return Shift(value, distance + 1, direction)
    return None


def _in_several_heads(draft: Draft, signal: Signal, label: str) -> Literal:
    match signal:
        case StrictLatest(bad, value, direction):
            latest = draft.add(Latest(bad, value, direction), f"{label} or here")
            return draft.add(Previous(latest, direction), label)
        case Shift(value, distance, direction):
            for k in range(1, distance):
                value = draft.add(Previous(value, direction), f"{label}: {k} of {distance}")
            return draft.add(Previous(value, direction), label)
    return draft.add(signal, label)


def _at_once(draft: Draft, signal: Signal, label: str) -> Literal:
    match signal:
        case StrictLatest(bad, value, direction):
            latest = draft.add(Latest(bad, value, direction), f"{label} or here")
            return draft.add(Previous(latest, direction), label)
        case Previous(value, direction):
            distance = 1
        case Shift(value, distance, direction):
            pass
        case _:
            return draft.add(signal, label)
    match draft.signal(value) if value.positive else None:
        case Previous(inner, same) if same == direction:
            value, distance = inner, distance + 1
        case Shift(inner, further, same) if same == direction:
            value, distance = inner, distance + further
    if distance == 1:
        return draft.add(Previous(value, direction), label)
    return draft.add(Shift(value, distance, direction), label)
