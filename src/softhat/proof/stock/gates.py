"""The gates of a stock checkpoint: two hidden units that clip a conjunction.

    dst += [act(z + b₁) - act(z + b₂)]·w,  w(b₁ - b₂) = ±2

z is largest where all literals hold, and smaller by at least the *step* where one fails. So the
bit, which starts at ∓1, moves to ±1 exactly where a term holds, and its square stays 1. act is relu
or something near it; SwiGLU's second factor is 1.

A variable may be used again: gates that hold exactly where its bit does take 2 off, and those of
the next bit add 2; or gates that hold where a raw output ±A does take 2A off, and it waits for a
head again. What the old value was off by stays, so only bounds that add up may allow it, and what
held a raw output is never taken for a constant or a bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.boolean import Space
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.variables import (
    LEVEL,
    BitCell,
    Cell,
    ConstantCell,
    Form,
    RawCell,
    TableCell,
    function_of,
    split,
)

Literals = tuple[tuple[int, float], ...]
Unit = tuple[Literals, Fraction]
"""What a hidden unit reads, apart from its constant, and that."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A clip: in units of z, `low` = z + b₂ where the conjunction holds, `high` = z + b₁ there,
    `fails` the largest z + b₁ where it does not or at `<bos>`. `out` is |w|."""

    target: int
    units: tuple[int, int]
    low: float
    high: float
    fails: float
    out: float
    never: bool
    """It holds nowhere: a literal of it is false at all positions. Then `fails` is all there is."""
    clears: bool
    """It takes off what its target held before."""


def feed_forward(
    units: Mapping[int, Unit],
    outgoing: NDArray[np.float64],
    cells: list[Cell],
    digits: set[int],
    atoms: BoundedAtoms,
    block: int,
    reuse: bool,
) -> tuple[list[Cell], list[Gate]]:
    """The variables after a block's feed-forward, and its gates. `outgoing` is (units, variables);
    `digits` are the variables that are digits of the position: a gate of those alone is a table of
    the position. `reuse`: variables may be used again."""
    where = f"block {block}: the feed-forward"
    by_target: dict[int, dict[Literals, list[int]]] = {}
    for number, (reads, _) in units.items():
        (used,) = np.nonzero(outgoing[number])
        if len(used) > 1:
            raise VoidError(f"{where} has a unit {number} that writes several variables")
        if len(used):
            groups = by_target.setdefault(int(used[0]), {})
            groups.setdefault(reads, []).append(number)
    after = list(cells)
    gates: list[Gate] = []
    space = atoms.space
    for target, groups in by_target.items():
        positional = bool(digits) and all(groups)
        positional = positional and all(
            at in digits
            for reads in groups
            for at, _ in reads
            if isinstance(cells[at], BitCell | TableCell)
        )
        overlap = f"{where} adds two terms that can both hold to variable {target}"
        function, signs = space.false, set()
        cleared, held = space.false, cells[target]
        again = reuse and isinstance(held, BitCell | RawCell)
        holds = np.zeros(atoms.most + 1, bool)
        for both in groups.values():
            sign, gate, literals = _clip(target, both, units, outgoing, cells, where)
            if again and sign < 0:
                gate = replace(gate, clears=True)
                gates.append(gate)
                term = _term(space, cells, gate, literals)
                if space.both(cleared, term) != space.false:
                    raise VoidError(overlap)
                cleared = space.either(cleared, term)
                continue
            signs.add(sign)
            gates.append(gate)
            if positional and literals and not gate.never:
                at = np.all([_table(cells[p]) * s > 0 for p, s in literals], axis=0)
                if (holds & at).any():
                    raise VoidError(overlap)
                holds |= at
                continue
            term = _term(space, cells, gate, literals)
            if space.both(function, term) != space.false:
                raise VoidError(overlap)
            function = space.either(function, term)
        if positional:
            if function != space.false and holds.any():
                raise VoidError(overlap)
            if function == space.false:
                function = atoms.table(holds[1:], LEVEL)
        if again:
            if cleared != function_of(held):
                raise VoidError(f"{where} does not take off what variable {target} holds")
            match held:
                case BitCell() if signs:
                    after[target] = BitCell(function)
                case RawCell() if not signs:
                    after[target] = replace(held, function=space.false)
                case _:
                    raise VoidError(f"{where} writes variable {target} for no gate and no head")
        elif signs == {1} and held == ConstantCell(-1.0, -1.0):
            after[target] = BitCell(function)
        elif signs == {-1} and held == ConstantCell(1.0, -1.0):
            after[target] = BitCell(space.negation(function))
        else:
            raise VoidError(f"{where} writes variable {target}, which does not wait for a gate")
    return after, gates


def _term(space: Space, cells: list[Cell], gate: Gate, literals: list[tuple[int, int]]) -> int:
    """Where a gate holds."""
    if gate.never:
        return space.false
    functions = [(function_of(cells[p]), s) for p, s in literals]
    return space.every([f if s > 0 else space.negation(f) for f, s in functions])


def _table(cell: Cell) -> NDArray[np.float64]:
    assert isinstance(cell, TableCell)
    return cell.values


def _clip(
    target: int,
    both: list[int],
    units: Mapping[int, Unit],
    outgoing: NDArray[np.float64],
    cells: list[Cell],
    where: str,
) -> tuple[int, Gate, list[tuple[int, int]]]:
    """A clip's sign, its numbers, and its literals: variables with the sign that they have."""
    if len(both) != 2:
        raise VoidError(f"{where} writes variable {target} by units that are not a clip")
    first, second = sorted(both, key=lambda number: -units[number][1])
    (reads, b1), (_, b2) = units[first], units[second]
    out = float(outgoing[first, target])
    held = cells[target]
    height = 2 * Fraction(held.amplitude) if isinstance(held, RawCell) else Fraction(2)
    if outgoing[second, target] != -out or b1 <= b2 or abs(Fraction(out)) * (b1 - b2) != height:
        raise VoidError(f"{where} has two units that do not clip between 0 and {float(height):g}")
    parts = split(Form(dict(reads), 0.0), cells)
    top, bos = parts.ordinary, parts.bos
    steps: list[Fraction] = []
    literals: list[tuple[int, int]] = []
    for p, w in parts.bits.items():
        top += abs(w)
        steps.append(2 * abs(w))
        literals.append((p, 1 if w > 0 else -1))
    for p, weight in parts.others.items():
        cell = cells[p]
        if not isinstance(cell, RawCell):
            raise VoidError(f"{where} reads a mean as a bit")
        share = abs(Fraction(weight)) * Fraction(cell.amplitude)
        top, bos = top + share, bos + share  # at <bos> a raw output may be anything
        steps.append(2 * share)
        literals.append((p, 1 if weight > 0 else -1))
    fails = (max(bos, top - min(steps)) if steps else bos) + b1
    low, high = top + b2, top + b1
    never = high <= 0
    if never:
        low, high, fails = Fraction(0), Fraction(0), max(bos, top) + b1
    if fails > 0 or (low <= 0 and not never):
        raise VoidError(f"{where} has a clip that does not separate its sums, or not <bos>")
    numbers = (float(low), float(high), float(fails), abs(out))
    return (1 if out > 0 else -1), Gate(target, (first, second), *numbers, never, False), literals
