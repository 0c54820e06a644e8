"""The gates of a stock GPT-2: two hidden units with equal weights that clip a conjunction.

    dst += [act(z + b₁) - act(z + b₂)]·w,  w(b₁ - b₂) = ±2

z is largest where all literals hold, and smaller by at least the *step* where one fails. So the
bit's pair, which starts at ∓1, moves to ±1 exactly where a term holds, and its square stays 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.gpt2.checkpoint import read_pairs, written_pairs
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.checkpoint import Array
from softhat.proof.stock.variables import (
    BitCell,
    Cell,
    ConstantCell,
    Form,
    RawCell,
    forms,
    function_of,
    split,
)


@dataclass(frozen=True, slots=True)
class Gate:
    """A clip: in units of z, `low` = z + b₂ where the conjunction holds, `high` = z + b₁ there,
    `fails` the largest z + b₁ where it does not or at `<bos>`. `out` is |w|."""

    pair: int
    units: tuple[int, int]
    low: float
    high: float
    fails: float
    out: float
    raws: tuple[tuple[int, float], ...]
    """The heads whose raw outputs it reads, with |weight|·2A: what an error of 1 moves z by."""
    never: bool
    """It holds nowhere: a literal of it is false at all positions. Then `fails` is all there is."""


def feed_forward(
    c_fc: Array,
    c_fc_bias: Array,
    mlp_proj: Array,
    cells: list[Cell],
    atoms: BoundedAtoms,
    block: int,
) -> tuple[list[Cell], list[Gate]]:
    """The pairs after a block's feed-forward, and its gates."""
    where = f"block {block}: the feed-forward"
    incoming = forms(read_pairs(c_fc, where), c_fc_bias)
    outgoing = written_pairs(mlp_proj, where)
    by_pair: dict[int, dict[tuple[tuple[int, float], ...], list[int]]] = {}
    for unit, row in enumerate(outgoing):
        (used,) = np.nonzero(row)
        if len(used) > 1:
            raise VoidError(f"{where} has a unit {unit} that writes several pairs")
        if len(used):
            key = tuple(sorted(incoming[unit].weights.items()))
            by_pair.setdefault(int(used[0]), {}).setdefault(key, []).append(unit)
    after = list(cells)
    gates: list[Gate] = []
    for pair, groups in by_pair.items():
        space = atoms.space
        function, signs = space.false, set()
        for units in groups.values():
            sign, gate, term = _clip(pair, units, incoming, outgoing, cells, atoms, where)
            if space.both(function, term) != space.false:
                raise VoidError(f"{where} adds two terms that can both hold to pair {pair}")
            function = space.either(function, term)
            signs.add(sign)
            gates.append(gate)
        if signs == {1} and cells[pair] == ConstantCell(-1.0, -1.0):
            after[pair] = BitCell(function)
        elif signs == {-1} and cells[pair] == ConstantCell(1.0, -1.0):
            after[pair] = BitCell(space.negation(function))
        else:
            raise VoidError(f"{where} writes pair {pair}, which does not wait for a gate")
    return after, gates


def _clip(
    pair: int,
    units: list[int],
    incoming: list[Form],
    outgoing: np.ndarray,
    cells: list[Cell],
    atoms: BoundedAtoms,
    where: str,
) -> tuple[int, Gate, int]:
    if len(units) != 2:
        raise VoidError(f"{where} writes pair {pair} by units that are not a clip")
    first, second = sorted(units, key=lambda u: -incoming[u].constant)
    width = Fraction(incoming[first].constant) - Fraction(incoming[second].constant)
    out = float(outgoing[first, pair])
    if outgoing[second, pair] != -out or width <= 0 or abs(Fraction(out)) * width != 2:
        raise VoidError(f"{where} has two units that do not clip between 0 and 2")
    found = split(Form(incoming[first].weights, 0.0), cells)
    b1, b2 = Fraction(incoming[first].constant), Fraction(incoming[second].constant)
    top, bos = found.ordinary, found.bos
    steps: list[Fraction] = []
    literals: list[int] = []
    raws: list[tuple[int, float]] = []
    for p, w in found.bits.items():
        top += abs(w)
        steps.append(2 * abs(w))
        function = function_of(cells[p])
        literals.append(function if w > 0 else atoms.space.negation(function))
    for p, weight in found.others.items():
        cell = cells[p]
        if not isinstance(cell, RawCell):
            raise VoidError(f"{where} reads a mean as a bit")
        share = abs(Fraction(weight)) * Fraction(cell.amplitude)
        top, bos = top + share, bos + share  # at <bos> a raw output may be anything
        steps.append(2 * share)
        literals.append(cell.function if weight > 0 else atoms.space.negation(cell.function))
        raws.append((cell.head, float(2 * share)))
    fails = max(bos, top - min(steps, default=Fraction(0))) + b1
    if not steps:
        fails = bos + b1
    low, high = top + b2, top + b1
    never = high <= 0
    if never:
        low, high, fails = Fraction(0), Fraction(0), max(bos, top) + b1
    if fails > 0 or (low <= 0 and not never):
        raise VoidError(f"{where} has a clip that does not separate its sums, or not <bos>")
    gate = Gate(
        pair=pair,
        units=(first, second),
        low=float(low),
        high=float(high),
        fails=float(fails),
        out=abs(out),
        raws=tuple(raws),
        never=never,
    )
    term = atoms.space.false if never else atoms.space.every(literals)
    return (1 if out > 0 else -1), gate, term
