"""The certificate of a block that is repeated: by induction over the rounds.

**Theorem 41** (`softhat.frontends.regular.pointers`) says what every position holds after k rounds:
a function from states to states and a pointer, in binary. Stored bits are exactly 0 or 1 in every
number format, so what is proved of one round is proved of all. The checker shows

1. *the start*: the embedding holds the function of the symbol, and i - 1 as the pointer;
2. *the step*: with any bits at all in the coordinates of the state, the block leaves the bits there
   that the theorem's round makes of them (canonical functions of those bits and of what the head
   reads where the pointer points), and every other coordinate as it was;
3. *the end*: the read-out decides whether state 0 goes to an accepting one.

That is checked once, whatever the number of rounds. Numbers below 2^K have different digits, so the
positions that a pointer finds are one or none: nothing is assumed of the program. Where the state
is, the model says; if it says something false, one of the three fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from softhat.io.errors import VoidError
from softhat.numerics.formats import CAP, FORMATS, Format
from softhat.proof.atoms import Atoms
from softhat.proof.boolean import Space
from softhat.proof.cells import Bit, Cell, Zero, bit_of
from softhat.proof.certificate import Certificate
from softhat.proof.gates import read_out
from softhat.proof.lengths import Proof, Report
from softhat.proof.program_atoms import ProgramAtoms
from softhat.proof.values import ProgramDerivation
from softhat.proof.void import UNPROVED, reading, reason_of
from softhat.transformer.weights import BOS, Transformer

ROUNDS = "a word of n symbols goes through the block ⌈log₂ n⌉ times, or more often"
_READ, _HELD = 1 << 20, 1 << 40
"""Levels of atoms: what is read stands above what is held. A diagram that asks first which state
was reached before never has to remember a function of states."""


@dataclass(frozen=True, slots=True)
class LoopClaim:
    """What a block is claimed to compute, and where it keeps it.

    `step[s][k]` is where the k-th symbol of the model's alphabet leads from s; 0 is the first
    state. `function[s][b]`, `accepts[s]` and `pointer[b]` are coordinates.
    """

    step: tuple[tuple[int, ...], ...]
    accepting: frozenset[int]
    function: tuple[tuple[int, ...], ...]
    accepts: tuple[int, ...]
    pointer: tuple[int, ...]

    @property
    def held(self) -> tuple[int, ...]:
        """All coordinates of the state."""
        return (*(at for row in self.function for at in row), *self.accepts, *self.pointer)


def certify_loop(
    t: Transformer,
    claim: LoopClaim,
    longest: int = CAP,
    formats: Mapping[str, Format] = FORMATS,
) -> Certificate:
    """The certificate of a transformer whose one layer is repeated ⌈log₂ n⌉ times, for words up to
    `longest`."""
    proof = Proof()
    reasons: list[str] = []
    try:
        _derive(t, claim, proof)
        if longest < proof.longest:
            proof.longest, proof.end = longest, "no longer words are asked for"
    except UNPROVED as error:
        reasons.append(reason_of(error))
        proof.outputs.clear()
    reasons += [
        f"the read-out of {output!r} does not decide acceptance"
        for output, _, equal in proof.outputs
        if not equal
    ]
    states = f"acceptance by the automaton of {len(claim.step)} states"
    certificate = Report(t, dict.fromkeys(t.outputs, states), proof, reasons, formats).run()
    return replace(
        certificate,
        errors=dict.fromkeys(formats, 0.0),
        every_length=False,
        assumptions=(*certificate.assumptions, ROUNDS),
    )


def _derive(t: Transformer, claim: LoopClaim, proof: Proof) -> None:
    _check_form(t, claim)
    atoms = ProgramAtoms(Space(t.symbols, False))
    derivation = ProgramDerivation(t, atoms, proof)
    cells = derivation.embedding()
    for at, function in _at_the_start(claim, atoms).items():
        if not isinstance(cells[at], Bit | Zero) or bit_of(cells[at], atoms) != function:
            raise VoidError(f"coordinate {at} does not begin with its part of the state")
    for at in claim.held:
        cells[at] = Bit(atoms.space.atom(("held", at), _HELD + at))
    expected = _after_a_round(claim, cells, atoms)
    after = derivation.through(derivation.ledger.layers[0], cells)
    for at, (old, new) in enumerate(zip(cells, after, strict=True)):
        if at in expected and new != Bit(expected[at]):
            raise VoidError(f"a round does not leave its part of the state in coordinate {at}")
        if at not in expected and new != old:
            raise VoidError(f"a round changes coordinate {at}, which is no part of the state")
    ((form, bias),) = derivation.margins(cells).values()
    with reading("the read-out"):
        threshold, function = read_out(form, bias, cells, atoms)
    equal = function == bit_of(cells[claim.accepts[0]], atoms)
    proof.outputs.append((t.outputs[0], threshold, equal))
    proof.longest = min(CAP, atoms.longest or CAP, (1 << len(claim.pointer)) - 1)
    proof.end = f"pointers have {len(claim.pointer)} digits"


def _check_form(t: Transformer, claim: LoopClaim) -> None:
    """One block, one output, one sink; the claim has the form of an automaton."""
    if t.sinks != (BOS,) or t.propositional or len(t.layers) != 1 or len(t.outputs) != 1:
        raise VoidError(f"a loop has one block, one output, symbols, and {BOS} as its only sink")
    states = len(claim.step)
    width = (states - 1).bit_length()
    rows = {len(row) for row in claim.step} == {len(t.symbols)}
    targets = {*(to for row in claim.step for to in row), *claim.accepting} <= set(range(states))
    if not states or not rows or not targets:
        raise VoidError("the claimed automaton does not step from its states to its states")
    fits = len(claim.function) == len(claim.accepts) == states and claim.pointer
    if not fits or any(len(row) != width for row in claim.function):
        raise VoidError("the claimed coordinates of the state do not fit the automaton")
    if len(set(claim.held)) < len(claim.held) or not set(claim.held) <= set(range(t.d_model)):
        raise VoidError("the claimed coordinates of the state are not different coordinates")


def _at_the_start(claim: LoopClaim, atoms: Atoms) -> dict[int, int]:
    """What the coordinates of the state hold before the first round."""

    def where(holds: Sequence[bool]) -> int:
        return atoms.space.symbols(sum(1 << k for k, yes in enumerate(holds) if yes))

    start = {}
    for row, digits, accepts in zip(claim.step, claim.function, claim.accepts, strict=True):
        for b, at in enumerate(digits):
            start[at] = where([bool(to >> b & 1) for to in row])
        start[accepts] = where([to in claim.accepting for to in row])
    for b, at in enumerate(claim.pointer):
        start[at] = atoms.digit(b, 1, 0, -1, 1 << 19)
    return start


def _after_a_round(claim: LoopClaim, cells: list[Cell], atoms: ProgramAtoms) -> dict[int, int]:
    """What a round makes of any bits, by the theorem."""
    space = atoms.space
    held = {at: bit_of(cells[at], atoms) for at in claim.held}
    numbers = [atoms.digit(b, 1, 0, 0, 1 << 19) for b in range(len(claim.pointer))]
    pointed = atoms.code("<=", zip((held[at] for at in claim.pointer), numbers, strict=True))

    def read(at: int) -> int:
        return atoms.read(pointed, held[at], _READ + at)

    def chosen(state: list[int], of: list[int]) -> int:
        """of[r], where r is the state with these binary digits."""
        function = space.false
        for r, value in enumerate(of):
            code = [bit if r >> b & 1 else space.negation(bit) for b, bit in enumerate(state)]
            function = space.either(function, space.every([*code, value]))
        return function

    after = {at: read(at) for at in claim.pointer}
    for row, accepts in zip(claim.function, claim.accepts, strict=True):
        state = [read(at) for at in row]
        for b, at in enumerate(row):
            after[at] = chosen(state, [held[other[b]] for other in claim.function])
        after[accepts] = chosen(state, [held[at] for at in claim.accepts])
    return after
