"""The gates of a stock Llama: two hidden units of SwiGLU that clip a conjunction.

    dst += [silu(z + b₁) - silu(z + b₂)]·w,  w(b₁ - b₂) = ±2

Both units' second factor is the coordinate that is always 1, and so are the constants b₁ and b₂. z
is largest where all literals hold, and smaller by at least the *step* where one fails. So the bit,
which starts at ∓1, moves to ±1 exactly where a term holds, and its square stays 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.checkpoint import Array
from softhat.proof.stock.variables import (
    LEVEL,
    BitCell,
    Cell,
    ConstantCell,
    Form,
    TableCell,
    forms,
    function_of,
    split,
)


@dataclass(frozen=True, slots=True)
class SwiGLUGate:
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


Folded = tuple[tuple[tuple[int, float], ...], Fraction]
"""What a unit reads apart from constants that are the same everywhere, and those."""


def feed_forward(
    gate: Array,
    up: Array,
    down: Array,
    cells: list[Cell],
    digits: set[int],
    atoms: BoundedAtoms,
    block: int,
) -> tuple[list[Cell], list[SwiGLUGate]]:
    """The coordinates after a block's feed-forward, and its gates. `digits` are the coordinates of
    digits of the position: a gate of those alone is a table of the position."""
    where = f"block {block}: the feed-forward"
    zero = np.zeros(len(gate), np.float32)
    incoming = forms(gate.T.astype(np.float64), zero)
    factors = forms(up.T.astype(np.float64), zero)
    by_target: dict[int, dict[tuple[tuple[int, float], ...], list[int]]] = {}
    folded: dict[int, Folded] = {}
    for unit, row in enumerate(down.T):
        (used,) = np.nonzero(row)
        if len(used) > 1:
            raise VoidError(f"{where} has a unit {unit} that writes several coordinates")
        if not len(used):
            continue
        _check_factor(factors[unit], cells, where)
        folded[unit] = _fold(incoming[unit], cells)
        by_target.setdefault(int(used[0]), {}).setdefault(folded[unit][0], []).append(unit)
    after = list(cells)
    gates: list[SwiGLUGate] = []
    space = atoms.space
    for target, groups in by_target.items():
        positional = all(groups) and all(
            at in digits for key in groups for at, _ in _bits(key, cells)
        )
        function, signs = space.false, set()
        holds = np.zeros(atoms.most + 1, bool)
        for units in groups.values():
            sign, clip, literals = _clip(target, units, folded, down, cells, where)
            signs.add(sign)
            gates.append(clip)
            if positional and literals and not clip.never:
                at = np.all([_values(cells, p) * s > 0 for p, s in literals], axis=0)
                if (holds & at).any():
                    raise VoidError(f"{where} adds two terms that can both hold to {target}")
                holds |= at
                continue
            term = space.false
            if not clip.never:
                both = [
                    function_of(cells[p]) if s > 0 else space.negation(function_of(cells[p]))
                    for p, s in literals
                ]
                term = space.every(both)
            if space.both(function, term) != space.false:
                raise VoidError(f"{where} adds two terms that can both hold to {target}")
            function = space.either(function, term)
        if positional:
            if function != space.false and holds.any():
                raise VoidError(f"{where} adds two terms that can both hold to {target}")
            holds[0] = False
            if function == space.false:
                function = atoms.table(holds[1:], LEVEL)
        if signs == {1} and cells[target] == ConstantCell(-1.0, -1.0):
            after[target] = BitCell(function)
        elif signs == {-1} and cells[target] == ConstantCell(1.0, -1.0):
            after[target] = BitCell(space.negation(function))
        else:
            raise VoidError(f"{where} writes coordinate {target}, which does not wait for a gate")
    return after, gates


def _check_factor(form: Form, cells: list[Cell], where: str) -> None:
    """SwiGLU's second factor is exactly one coordinate that is always 1."""
    read = [(cells[p], w) for p, w in form.weights.items()]
    if len(read) != 1 or read[0] != (ConstantCell(1.0, 1.0), 1.0):
        raise VoidError(f"{where} multiplies a unit by something that is not 1")


def _fold(form: Form, cells: list[Cell]) -> Folded:
    constant, rest = Fraction(0), []
    for p, w in form.weights.items():
        cell = cells[p]
        if isinstance(cell, ConstantCell) and cell.ordinary == cell.bos:
            constant += Fraction(w) * Fraction(cell.ordinary)
        else:
            rest.append((p, w))
    return tuple(sorted(rest)), constant


def _bits(key: tuple[tuple[int, float], ...], cells: list[Cell]) -> list[tuple[int, float]]:
    return [(p, w) for p, w in key if isinstance(cells[p], BitCell | TableCell)]


def _values(cells: list[Cell], p: int) -> np.ndarray:
    cell = cells[p]
    assert isinstance(cell, TableCell)
    return cell.values


def _clip(
    target: int,
    units: list[int],
    folded: dict[int, Folded],
    down: Array,
    cells: list[Cell],
    where: str,
) -> tuple[int, SwiGLUGate, list[tuple[int, int]]]:
    """A clip's sign, its numbers, and its literals: coordinates with the sign that they have."""
    if len(units) != 2:
        raise VoidError(f"{where} writes coordinate {target} by units that are not a clip")
    first, second = sorted(units, key=lambda unit: -folded[unit][1])
    b1, b2 = folded[first][1], folded[second][1]
    out = float(down[target, first])
    if float(down[target, second]) != -out or b1 <= b2 or abs(Fraction(out)) * (b1 - b2) != 2:
        raise VoidError(f"{where} has two units that do not clip between 0 and 2")
    found = split(Form(dict(folded[first][0]), 0.0), cells)
    if found.others:
        raise VoidError(f"{where} reads a mean as a bit")
    top, bos = found.ordinary, found.bos
    steps = [2 * abs(w) for w in found.bits.values()]
    top += sum((abs(w) for w in found.bits.values()), Fraction(0))
    fails = (max(bos, top - min(steps)) if steps else bos) + b1
    low, high = top + b2, top + b1
    never = high <= 0
    if never:
        low, high, fails = Fraction(0), Fraction(0), max(bos, top) + b1
    if fails > 0 or (low <= 0 and not never):
        raise VoidError(f"{where} has a clip that does not separate its sums, or not <bos>")
    gate = SwiGLUGate(
        target, (first, second), float(low), float(high), float(fails), abs(out), never
    )
    literals = [(p, 1 if w > 0 else -1) for p, w in found.bits.items()]
    return (1 if out > 0 else -1), gate, literals
