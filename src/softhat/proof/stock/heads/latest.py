"""Latest: the value at the last position that is not ruled out.

**Theorems 17 and 24.** Scores T(i - j) + Q(j) - Π·bad_j, each step back costing at least C, over
j <= i put all but e^-C/(1 - e^-C) + n·e^-clear on the last j <= i without bad: `<bos>` is never
bad, the others without bad lose C a step, those with bad lie `clear` below all without. Positions
that are learned rise with j and nothing turns, T = 0 (Theorem 17); or distances turn (Theorem 24).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.kind import Gaps, HeadForms, Lookup, Pair, Vector, stepwise
from softhat.proof.stock.storage import lost
from softhat.proof.stock.variables import BitCell, Cell, ConstantCell, TableCell, function_of

_EVERY = -1
"""Instead of a variable: every position of the word is bad, as where a predicate that is stored as
`bad` holds at all positions of the context."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LatestHead(Lookup):
    """Softmax of T(i - j) + Q(j) - Π·bad_j."""

    kind = "Latest"

    def leak(self, gaps: Gaps, keys: int) -> float:
        return stepwise(gaps, keys)


@dataclass(frozen=True, slots=True)
class Content:
    """Σ weight·variable + constant, what keys say of themselves, in logits."""

    weights: dict[int, Fraction]
    constant: Fraction


def content_of(h: HeadForms, pairs: list[Pair]) -> Content:
    weights: dict[int, Fraction] = {}
    constant = Fraction(0)
    for pair in pairs:
        if pair.role == "content":
            form, share = h.key[pair.pair][0], Fraction(pair.query.real) / Fraction(h.root)
            constant += share * Fraction(form.constant)
            for at, w in form.weights.items():
                weights[at] = weights.get(at, Fraction(0)) + share * Fraction(w)
    return Content(weights, constant)


def recognise(
    h: HeadForms, cells: list[Cell], atoms: BoundedAtoms
) -> tuple[LatestHead, list[Cell]]:
    """Of a head whose queries are constants."""
    pairs = [h.read_as_it_is(pair) for pair in h.pairs(cells)]
    table, slack = h.turning(pairs, "distance", cells), h.lost_turning(pairs, cells)
    content = content_of(h, pairs)
    read = {at: cells[at] for at, w in content.weights.items() if w}
    bits = [at for at, cell in read.items() if isinstance(cell, BitCell)]
    tables = [at for at, cell in read.items() if isinstance(cell, TableCell)]
    if len(bits) > 1:
        raise VoidError(f"{h.where} rules out keys by several bits")
    candidates: list[int | None] = [*bits] or [None, *tables, _EVERY]
    for ruling in candidates:  # a predicate of the position can rule out keys too
        ruled = _ruled(h, content, cells, ruling, atoms, table, slack)
        if ruled is not None:
            break
    else:
        raise VoidError(f"{h.where} has scores that do not rise with the position")
    if ruled.clear <= 0:
        raise VoidError(f"{h.where} does not put ruled-out keys below all others")
    functions = []
    for value in h.literals(cells, atoms):
        if atoms.space.both(ruled.bad, value) != atoms.space.false:
            raise VoidError(f"{h.where}: its value does not imply that the key is not ruled out")
        functions.append(atoms.since(ruled.bad, value, "past", h.level))
    head = LatestHead(
        block=h.block,
        head=h.head,
        pairs=tuple(pairs),
        gap=ruled.gap,
        clear=ruled.clear,
        sizes=ruled.sizes,
    )
    return head, h.written(functions)


@dataclass(frozen=True, slots=True)
class _Ruled:
    """What rules out keys, C, how far ruled-out keys lie below all others, |scores| of those."""

    bad: int
    gap: float
    clear: float
    sizes: Vector


def _ruled(
    h: HeadForms,
    content: Content,
    cells: list[Cell],
    ruling: int | None,
    atoms: BoundedAtoms,
    table: Vector,
    off: float,
) -> _Ruled | None:
    """With the variable `ruling` (or every position of the word) as bad; None if scores do not rise
    with the position. `off`: what floating point may have lost of `table`."""
    places = np.zeros(h.context)
    own = start = content.constant
    size = abs(content.constant)
    penalty, bad = Fraction(0), atoms.space.false
    for at, w in content.weights.items():
        cell = cells[at]
        size += abs(w)
        if at == ruling:  # w·v is -|w| or |w|: the better of the two is no penalty
            first = Fraction(float(cell.values[0])) if isinstance(cell, TableCell) else Fraction(-1)
            function = function_of(cell)
            bad = function if w < 0 else atoms.space.negation(function)
            penalty = 2 * abs(w)
            own += abs(w)
            start += w * first
            continue
        match cell:
            case TableCell(values=values):
                places += float(w) * values
            case ConstantCell(ordinary, bos):
                own += w * Fraction(ordinary)
                start += w * Fraction(bos)
                size += abs(w) * max(abs(Fraction(ordinary)), abs(Fraction(bos)))
            case _ if w:
                return None
    if ruling == _EVERY:  # what sets <bos> apart is the penalty of all others
        penalty, bad, own = start - own, atoms.space.true, start
    places[1:] += float(own)
    places[0] += float(start)
    slack = lost(float(size), len(content.weights)) + off
    steps = -np.diff(table).max(initial=-inf) + np.diff(places).min(initial=inf)
    gap = float(steps) - slack if h.context > 1 else 0.0
    if gap <= 0:
        return None
    spread = float(np.ptp(table)) + float(np.ptp(places)) + slack
    clear = float(penalty) - spread if ruling is not None else inf
    return _Ruled(bad, gap, clear, np.abs(places) + float(np.abs(table).max()))
