"""Registers to residual coordinates: who lives where in the residual stream, and for how long.

A *register* holds the raw output of a head or a stored bit. Coordinates whose value is dead are
used again. A feed-forward layer clears a coordinate by subtracting ReLU(x) (and adding ReLU(-x)
where x may be negative), which is exact in floating point. Bits only ever replace bits: a bit
written over a raw value would inherit its rounding, and bits are exactly 0 or 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from softhat.program.inputs import Input, TokenIn
from softhat.program.schedule import AT_THE_END, Schedule, Term
from softhat.program.signals import Program, is_number, reads


class Register(NamedTuple):
    """The raw output of a head, or the stored bit, of a signal."""

    signal: int
    raw: bool


@dataclass(frozen=True, slots=True)
class Allocation:
    """The coordinate of each register, and what each layer's feed-forward clears.

    Coordinates are counted from 0 after the fixed ones (position features and sinks).
    """

    coordinate: dict[Register, int]
    clears: tuple[tuple[Register, ...], ...]
    count: int
    stored: dict[int, int]
    """The layer that stores each signal's bit, as `stored_layers` says."""


def allocate(program: Program, schedule: Schedule) -> Allocation:
    """Linear scan over the layers, reusing dead coordinates greedily."""
    stored = stored_layers(program, schedule)
    last_use = _last_uses(program, schedule, stored)
    coordinate: dict[Register, int] = {}
    clears: list[list[Register]] = [[] for _ in schedule.layers]
    live: dict[bool, list[tuple[int, int, Register]]] = {True: [], False: []}
    count = 0

    def enter(register: Register) -> None:
        heappush(live[register.raw], (last_use[register], coordinate[register], register))

    def place(register: Register, layer: int) -> None:
        """Put a value in a coordinate that is no longer read after `layer`, which that layer
        clears, or in a new one."""
        nonlocal count
        heap = live[register.raw]
        if heap and heap[0][0] <= layer:
            _, at, old = heappop(heap)
            clears[layer - 1].append(old)
            coordinate[register] = at
        else:
            coordinate[register] = count
            count += 1

    for at, signal in enumerate(program.signals):
        bit = Register(at, False)
        if stored.get(at) == 0 and bit in last_use:
            coordinate[bit] = count
            count += 1
            if isinstance(signal, TokenIn):  # position predicates are features: never reused
                enter(bit)
    for number, layer in enumerate(schedule.layers, start=1):
        for group in layer.heads:
            for at in group.signals:
                raw = Register(at, True)
                place(raw, number - 1)
                enter(raw)
        # All before any is entered: a bit that nobody reads must not share its coordinate with
        # another bit of the same layer.
        written = [Register(gate.signal, False) for gate in layer.gates]
        written += [Register(at, True) for at in layer.steps]
        for register in written:
            place(register, number)
        for register in written:
            enter(register)
    return Allocation(coordinate, tuple(map(tuple, clears)), count, stored)


def stored_layers(program: Program, schedule: Schedule) -> dict[int, int]:
    """The layer whose feed-forward stores each signal's bit; 0 for the embedding."""
    stored = {
        gate.signal: number
        for number, layer in enumerate(schedule.layers, start=1)
        for gate in layer.gates
    }
    for at, signal in enumerate(program.signals):
        if at not in stored and isinstance(signal, Input):
            stored[at] = 0
    return stored


def read(stored: dict[int, int], signal: int, layer: int) -> Register:
    """What the feed-forward of `layer` reads for `signal`: its bit if that is there in time."""
    return Register(signal, stored.get(signal, AT_THE_END) >= layer)


def number_register(program: Program, signal: int) -> Register:
    """Where a head or a numeric output finds a signal: numbers as they are, bits as stored."""
    return Register(signal, is_number(program.signals[signal]))


def _last_uses(program: Program, schedule: Schedule, stored: dict[int, int]) -> dict[Register, int]:
    last_use: dict[Register, int] = {}

    def use(register: Register, layer: int) -> None:
        if last_use.get(register, -1) < layer:
            last_use[register] = layer

    def use_term(term: Term, layer: int) -> None:
        for literal in term:
            use(read(stored, literal.signal, layer), layer)

    for number, layer in enumerate(schedule.layers, start=1):
        for group in layer.heads:
            for at in group.signals:
                use(Register(at, True), number)
                for source in reads(program.signals[at]):
                    use(number_register(program, source), number)
        for at in layer.steps:
            use(Register(at, True), number)
            for source in reads(program.signals[at]):
                use(Register(source, True), number)
        for gate in layer.gates:
            use(Register(gate.signal, False), number)
            for term in gate.terms:
                use_term(term, number)
    for _, cover in schedule.outputs:
        for term in cover.terms:
            use_term(term, AT_THE_END)
    for _, output in schedule.numbers:
        for at in output.reads:
            use(number_register(program, at), AT_THE_END)
    return last_use
