"""The heads of a stock GPT-2, recognised from their weights, each with its theorem.

The score of key j for query i is Σ_r query_r(x_i)·key_r(x_j)/√d_head. Nothing is taken from
labels: a head is what its queries, keys and values are. Heads that look something up are here,
those that compare counts in `comparisons`.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.gpt2.comparisons import average, sign
from softhat.proof.gpt2.kinds import GPT2Head, PairForms, amplitude, grid_of
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.recalls import read_recall
from softhat.proof.stock.shifts import distance_of_codes
from softhat.proof.stock.variables import (
    BitCell,
    Cell,
    ConstantCell,
    Form,
    MeanCell,
    RawCell,
    TableCell,
    function_of,
    literal,
)


def recognise(
    h: PairForms, cells: list[Cell], number: int, atoms: BoundedAtoms, targets: list[float]
) -> tuple[GPT2Head, list[Cell]]:
    """The head and, for each value that is written, what its pair then holds.

    `targets` are the weights with which its values are written.
    """
    values = h.value[: len(targets)]
    rows = [
        (q, k)
        for q, k in zip(h.query, h.key, strict=True)
        if (q.weights or q.constant) and (k.weights or k.constant)
    ]
    where = f"block {h.block}, head {h.head}"
    if not rows:
        return average(h, values, cells, number, atoms, targets, where)
    read = [cells[p] for q, _ in rows for p in q.weights]
    level = (1 << 50) + (number << 20)
    if not read:
        return _latest(h, rows, values, cells, number, atoms, level, targets, where)
    recalls = any(isinstance(cell, BitCell) for cell in read)
    if not recalls and all(isinstance(cell, TableCell | ConstantCell) for cell in read):
        # A predicate of the position may be a digit that is looked for.
        recalls = any(isinstance(cell, ConstantCell) and cell.ordinary == cell.bos for cell in read)
        recalls = recalls and any(
            isinstance(cell, BitCell) for _, k in rows for cell in _read(k, cells)
        )
    if recalls:
        return _recall(h, values, cells, number, atoms, level, targets, where)
    if not any(isinstance(cell, MeanCell) for cell in read):
        return _shift(h, rows, values, cells, number, atoms, level, targets, where)
    return sign(h, rows, values, cells, number, atoms, level, targets, where)


def _read(form: Form, cells: list[Cell]) -> list[Cell]:
    return [cells[p] for p in form.weights]


def _latest(
    h: PairForms,
    rows: list[tuple[Form, Form]],
    values: list[Form],
    cells: list[Cell],
    number: int,
    atoms: BoundedAtoms,
    level: int,
    targets: list[float],
    where: str,
) -> tuple[GPT2Head, list[Cell]]:
    """Theorem 17. Scores T(j) - Π·bad_j, T rising by at least C a step, over j <= i put all but
    e^-C/(1 - e^-C) + n·e^-(Π - T(n) + T(0)) on the last j <= i without bad: `<bos>` is never
    bad, the others without bad lose C a step, those with bad lie below all without."""
    root = Fraction(sqrt(h.d_head))
    total: dict[int, Fraction] = {}
    constant = Fraction(0)
    for q, k in rows:
        factor = Fraction(q.constant) / root
        constant += factor * Fraction(k.constant)
        for p, w in k.weights.items():
            total[p] = total.get(p, Fraction(0)) + factor * Fraction(w)
    bits = [p for p, w in total.items() if w and isinstance(cells[p], BitCell)]
    if len(bits) > 1:
        raise VoidError(f"{where} rules out keys by several bits")
    tables = [p for p, w in total.items() if w and _digits(cells[p], 2) is not None]
    found = None
    candidates: list[int | None] = [*bits] or [None, *tables]
    for ruling in candidates:  # a predicate of the position can rule out keys too
        found = found or _ruled(h, total, constant, cells, ruling, atoms)
    if found is None:
        raise VoidError(f"{where} has scores that do not rise with the position")
    bad, gap, clear, places = found
    if clear <= 0:
        raise VoidError(f"{where} does not put ruled-out keys below all others")
    made: list[Cell] = []
    for form, weight in zip(values, targets, strict=True):
        held = literal(form, cells, atoms, f"{where}: a value")
        if atoms.space.both(bad, held) != atoms.space.false:
            raise VoidError(f"{where}: its value does not imply that the key is not ruled out")
        function = atoms.since(bad, held, "past", level)
        made.append(RawCell(function, amplitude(weight, where), number))
    reach, grid = tuple(np.maximum.accumulate(np.abs(places)).tolist()), grid_of(places)
    return GPT2Head(
        h.block, h.head, "Latest", len(values), gap, clear, reach=reach, grid=grid
    ), made


def _ruled(
    h: PairForms,
    total: dict[int, Fraction],
    constant: Fraction,
    cells: list[Cell],
    ruling: int | None,
    atoms: BoundedAtoms,
) -> tuple[int, float, float, NDArray[np.float64]] | None:
    """With the pair `ruling` as bad: bad, the least step of T, how far ruled-out keys lie below
    all others, and T; None if T does not rise."""
    places = np.zeros(h.context)
    own = start = constant
    size = Fraction(0)
    penalty, bad = Fraction(0), atoms.space.false
    for p, w in total.items():
        cell = cells[p]
        size += abs(w)
        if p == ruling:  # w·v is -|w| or |w|: the better of the two is no penalty
            digits = _digits(cell, 2)  # a bit is -1 at <bos>
            first = -1.0 if digits is None else float(digits[0])
            if isinstance(cell, ConstantCell):
                function = atoms.space.true if cell.ordinary > 0 else atoms.space.false
            else:
                function = function_of(cell)
            bad = function if w < 0 else atoms.space.negation(function)
            penalty = 2 * abs(w)
            own += abs(w)
            start += w * Fraction(first)
            continue
        match cell:
            case TableCell(values=table):
                places += float(w) * table
            case ConstantCell(ordinary, bos):
                own += w * Fraction(ordinary)
                start += w * Fraction(bos)
                size += abs(w) * max(abs(Fraction(ordinary)), abs(Fraction(bos)))
            case _ if w:
                return None
    places[1:] += float(own)
    places[0] += float(start)
    slack = float(size + abs(constant)) * (len(total) + 4) * 2.0**-52
    gap = float(np.diff(places).min()) - slack
    if gap <= 0:
        return None
    clear = float(penalty) - float(places[-1] - places[0]) - slack if ruling is not None else inf
    return bad, gap, clear, places


def _shift(
    h: PairForms,
    rows: list[tuple[Form, Form]],
    values: list[Form],
    cells: list[Cell],
    number: int,
    atoms: BoundedAtoms,
    level: int,
    targets: list[float],
    where: str,
) -> tuple[GPT2Head, list[Cell]]:
    """Theorem 18: each row compares a digit of the position before with the key's."""
    weights: list[float] = []
    asked: list[NDArray[np.float64]] = []
    given: list[NDArray[np.float64]] = []
    for q, k in rows:
        if len(q.weights) != 1 or len(k.weights) != 1 or q.constant or k.constant:
            raise VoidError(f"{where} has a row that is not one digit against one digit")
        ((a, u),), ((b, v),) = q.weights.items(), k.weights.items()
        before, digit = _digits(cells[a], h.context), _digits(cells[b], h.context)
        if before is None or digit is None:
            raise VoidError(f"{where} has scores that no kind of head has")
        weights.append(abs(u * v) / sqrt(h.d_head))
        asked.append(before if u * v > 0 else -before)
        given.append(digit)
    distance = distance_of_codes(asked, given, where)
    made: list[Cell] = []
    for form, weight in zip(values, targets, strict=True):
        held = literal(form, cells, atoms, f"{where}: a value")
        function = atoms.earlier(held, distance, level)
        made.append(RawCell(function, amplitude(weight, where), number))
    head = GPT2Head(
        h.block, h.head, "Shift", len(values), 2 * min(weights), digits=len(weights),
        reach=(sum(weights),), grid=grid_of(np.array(weights)),
    )  # fmt: skip
    return head, made


def _recall(
    h: PairForms,
    values: list[Form],
    cells: list[Cell],
    number: int,
    atoms: BoundedAtoms,
    level: int,
    targets: list[float],
    where: str,
) -> tuple[GPT2Head, list[Cell]]:
    """Theorem 38: rows of positions, and rows that compare digits."""
    rows = list(zip(h.query, h.key, strict=True))
    found = read_recall(rows, Fraction(sqrt(h.d_head)), h.context, cells, atoms, where)
    made: list[Cell] = []
    for form, weight in zip(values, targets, strict=True):
        function = found.value(form, cells, atoms, level, where)
        made.append(RawCell(function, amplitude(weight, where), number))
    return GPT2Head(
        h.block,
        h.head,
        "Recall",
        len(values),
        found.gap,
        found.clear,
        reach=(float(np.abs(found.places).max()),),
        grid=grid_of(found.places),
        anchored=found.anchored,
        compares=found.compares,
    ), made


def _digits(cell: Cell, context: int) -> NDArray[np.float64] | None:
    """A pair that is ±1 at each position, as a table; a digit may be the same at all of them."""
    match cell:
        case TableCell(values=values):
            return values
        case ConstantCell(ordinary, bos) if abs(ordinary) == abs(bos) == 1:
            return np.array([bos] + [ordinary] * (context - 1))
    return None
