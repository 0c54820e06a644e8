"""The heads of a stock GPT-2, recognised from their weights, each with its theorem.

The score of key j for query i is Σ_r query_r(x_i)·key_r(x_j)/√d_head. Nothing is taken from
labels: a head is what its queries, keys and values are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, gcd, inf, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from softhat.proof.atoms import Sum
from softhat.proof.cells import VoidError
from softhat.proof.gpt2.bounded import BoundedAtoms
from softhat.proof.gpt2.pairs import (
    Bit,
    Cell,
    Constant,
    Form,
    Mean,
    Raw,
    Table,
    function_of,
    literal,
    split,
)

Name = Literal["Latest", "Previous", "Average", "Sign"]


@dataclass(frozen=True, slots=True)
class Count:
    """What an Average's value averages: multiples of the power of two `unit` of at most `size` at
    ordinary positions, `bos` at `<bos>`, all multiples of `grid`; i+1 times the mean is never
    nearer to 0 than `least`."""

    size: float
    bos: float
    unit: float
    grid: float
    least: float


@dataclass(frozen=True, slots=True)
class Head:
    """A head of a block. `gap`: of Latest and Previous, in logits, what a step (a digit) costs;
    `clear`: how far a ruled-out key lies below all others; `decision`: a Sign's least |score|."""

    block: int
    head: int
    kind: Name
    rows: int
    """Values that it computes."""
    gap: float = 0.0
    clear: float = 0.0
    digits: int = 0
    decision: float = 0.0
    counts: tuple[Count, ...] = ()
    reach: float = 0.0
    """The largest |score| of a key that is not ruled out."""
    grid: float = 0.0
    """The power of two that all those scores are multiples of."""


@dataclass(frozen=True, slots=True)
class HeadForms:
    """A head's queries, keys and values over pairs."""

    block: int
    head: int
    query: list[Form]
    key: list[Form]
    value: list[Form]
    d_head: int
    context: int


def recognise(
    h: HeadForms, cells: list[Cell], number: int, atoms: BoundedAtoms, targets: list[float]
) -> tuple[Head, list[Cell]]:
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
        return _average(h, values, cells, number, atoms, targets, where)
    read = [cells[p] for q, _ in rows for p in q.weights]
    level = (1 << 50) + (number << 20)
    if not read:
        return _latest(h, rows, values, cells, number, atoms, level, targets, where)
    if not any(isinstance(cell, Mean) for cell in read):
        return _previous(h, rows, values, cells, number, atoms, level, targets, where)
    return _sign(h, rows, values, cells, number, atoms, level, targets, where)


def _amplitude(weight: float, where: str) -> float:
    """A of a pair that starts at -A and to which 2A·output is added."""
    if weight <= 0:
        raise VoidError(f"{where} writes with a weight that is not positive")
    return weight / 2


def _latest(
    h: HeadForms,
    rows: list[tuple[Form, Form]],
    values: list[Form],
    cells: list[Cell],
    number: int,
    atoms: BoundedAtoms,
    level: int,
    targets: list[float],
    where: str,
) -> tuple[Head, list[Cell]]:
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
    bits = [p for p, w in total.items() if w and isinstance(cells[p], Bit)]
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
        made.append(Raw(function, _amplitude(weight, where), number))
    reach, grid = float(np.abs(places).max()), grid_of(places)
    return Head(h.block, h.head, "Latest", len(values), gap, clear, reach=reach, grid=grid), made


def _ruled(
    h: HeadForms,
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
            if isinstance(cell, Constant):
                function = atoms.space.true if cell.ordinary > 0 else atoms.space.false
            else:
                function = function_of(cell)
            bad = function if w < 0 else atoms.space.negation(function)
            penalty = 2 * abs(w)
            own += abs(w)
            start += w * Fraction(first)
            continue
        match cell:
            case Table(values=table):
                places += float(w) * table
            case Constant(ordinary, bos):
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


def _previous(
    h: HeadForms,
    rows: list[tuple[Form, Form]],
    values: list[Form],
    cells: list[Cell],
    number: int,
    atoms: BoundedAtoms,
    level: int,
    targets: list[float],
    where: str,
) -> tuple[Head, list[Cell]]:
    """Theorem 18. Scores Σ_b w_b·s_b(i-1)·s_b(j) with signs s_b = ±1 that tell all positions apart
    put all but Π(1 + e^-2w_b) - 1 on j = i-1 (`<bos>` for i = 1): each digit that differs costs
    2·w_b, and different positions differ in different sets of digits."""
    weights: list[float] = []
    signs: list[NDArray[np.float64]] = []
    for q, k in rows:
        if len(q.weights) != 1 or len(k.weights) != 1 or q.constant or k.constant:
            raise VoidError(f"{where} has a row that is not one digit against one digit")
        ((a, u),), ((b, v),) = q.weights.items(), k.weights.items()
        before, digit = _digits(cells[a], h.context), _digits(cells[b], h.context)
        if before is None or digit is None:
            raise VoidError(f"{where} has scores that no kind of head has")
        same = before[1:] * digit[:-1]
        if not (same == same[0]).all():
            raise VoidError(f"{where} compares digits of something that is not the position before")
        weights.append(u * v * float(same[0]) / sqrt(h.d_head))
        signs.append(digit)
    if min(weights) <= 0:
        raise VoidError(f"{where} prefers positions whose digits differ")
    codes = np.packbits(np.stack(signs) > 0, axis=0)
    if len(np.unique(codes, axis=1).T) != h.context:
        raise VoidError(f"{where} compares digits that two positions share")
    made: list[Cell] = [
        Raw(
            atoms.previous(literal(form, cells, atoms, f"{where}: a value"), "past", level),
            _amplitude(weight, where),
            number,
        )
        for form, weight in zip(values, targets, strict=True)
    ]
    head = Head(
        h.block, h.head, "Previous", len(values), 2 * min(weights), digits=len(weights),
        reach=sum(weights), grid=grid_of(np.array(weights)),
    )  # fmt: skip
    return head, made


def _digits(cell: Cell, context: int) -> NDArray[np.float64] | None:
    """A pair that is ±1 at each position, as a table; a digit may be the same at all of them."""
    match cell:
        case Table(values=values):
            return values
        case Constant(ordinary, bos) if abs(ordinary) == abs(bos) == 1:
            return np.array([bos] + [ordinary] * (context - 1))
    return None


def _average(
    h: HeadForms,
    values: list[Form],
    cells: list[Cell],
    number: int,
    atoms: BoundedAtoms,
    targets: list[float],
    where: str,
) -> tuple[Head, list[Cell]]:
    """Theorem 19. Without scores a head gives the mean of its values over j <= i, rounded once."""
    made: list[Cell] = []
    counts: list[Count] = []
    for form, weight in zip(values, targets, strict=True):
        found = split(form, cells)
        if found.others:
            raise VoidError(f"{where} averages something that is not a stored bit")
        base = found.ordinary - sum(found.bits.values(), Fraction(0))
        terms = tuple((2 * w, function_of(cells[p])) for p, w in found.bits.items())
        if weight <= 0:
            raise VoidError(f"{where} writes a mean with a weight that is not positive")
        low, high = atoms.space.range_of_sum([*terms, (base, atoms.space.true)])
        size = max(abs(low), abs(high))
        made.append(Mean(terms, base, found.bos, float(size), weight, number))
        unit = common([base, *(a for a, _ in terms)])
        least, _ = nearest(found.bos, unit)
        grid = common([unit, found.bos])
        sizes = (float(size), float(found.bos), power_in(unit), power_in(grid), float(least))
        counts.append(Count(*sizes))
    return Head(h.block, h.head, "Average", len(values), counts=tuple(counts)), made


def _sign(
    h: HeadForms,
    rows: list[tuple[Form, Form]],
    values: list[Form],
    cells: list[Cell],
    number: int,
    atoms: BoundedAtoms,
    level: int,
    targets: list[float],
    where: str,
) -> tuple[Head, list[Cell]]:
    """Theorem 20. Scores S·x_i on ordinary j and 0 on `<bos>` give the ordinary positions all but
    e^-s of the weight if S·x_i >= s, and at most n·e^-s if S·x_i <= -s. The mean x_i is
    (integer multiple of a unit + constant)/(i+1), never nearer to 0 than its least/(i+1)."""
    if len(rows) != 1:
        raise VoidError(f"{where} compares by more than one row")
    ((q, k),) = rows
    means = [(cells[p], w) for p, w in q.weights.items()]
    if len(means) != 1 or q.constant or not isinstance(means[0][0], Mean):
        raise VoidError(f"{where} has scores that no kind of head has")
    mean, weight = means[0]
    assert isinstance(mean, Mean)
    against = split(k, cells)
    if against.bits or against.others or against.bos != 0 or against.ordinary == 0:
        raise VoidError(f"{where} does not compare the word's own positions with <bos>")
    slope = (
        Fraction(weight) * Fraction(mean.amplitude) * against.ordinary / Fraction(sqrt(h.d_head))
    )
    if slope < 0:
        raise VoidError(f"{where} attends to the word where the mean is negative")
    unit = common([mean.base, *(a for a, _ in mean.terms)])
    least, threshold = nearest(mean.bos, unit)
    if not unit or not least:
        raise VoidError(f"{where} compares nothing, or the sign of 0 would decide")
    counts: dict[tuple[Literal["past", "future", "total"], int], int] = {}
    for a, f in mean.terms:
        counts["past", f] = counts.get(("past", f), 0) + int(a / unit)
    function = atoms.at_least(Sum(dict(counts), int(mean.base / unit)), threshold, level)
    if any(literal(f, cells, atoms, f"{where}: a value") != atoms.space.true for f in values):
        raise VoidError(f"{where} compares, but its value is not 1 on the word's own positions")
    made: list[Cell] = [Raw(function, _amplitude(w, where), number) for w in targets]
    decision = float(slope * least / h.context)
    return Head(h.block, h.head, "Sign", len(values), decision=decision), made


def grid_of(values: NDArray[np.float64]) -> float:
    """The largest power of two that all values are multiples of."""
    grid = 2.0 ** int(np.floor(np.log2(max(float(np.abs(values).max()), 2.0**-900))))
    while grid > 2.0**-1000 and (values % grid).any():
        grid /= 2
    return grid


def power_in(x: Fraction) -> float:
    """The largest power of two that x is a multiple of."""
    return (x.numerator & -x.numerator) / x.denominator if x else inf


def nearest(constant: Fraction, unit: Fraction) -> tuple[Fraction, int]:
    """The least |unit·m + constant| over integers m, and the least m for which it is positive."""
    if not unit:
        return abs(constant), 0
    threshold = ceil(-constant / unit)
    up = unit * threshold + constant
    return min(up, unit - up), threshold


def common(values: list[Fraction]) -> Fraction:
    """The greatest common divisor of rationals."""
    result = Fraction(0)
    for value in values:
        if value:
            a, b = result, abs(value)
            numerator = gcd(a.numerator * b.denominator, b.numerator * a.denominator)
            result = Fraction(numerator, a.denominator * b.denominator)
    return result
