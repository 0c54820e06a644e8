"""Heads whose scores know no distance: which keys match, by bits or by codes.

    score = b·T[i, j] on the word's own positions, c on the sinks

with T from pairs of bits, T = Σ (query bit at i)·(key bit at j), of which at most one holds, or
from codes, T the number of equal digits. `Match`, `Width` and `At` are read from this.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from softhat.io.errors import VoidError
from softhat.proof.cells import Bit, Cell, Feature, Form, Zero, bit_of
from softhat.proof.heads.reading import HeadWeights
from softhat.proof.program_atoms import ProgramAtoms
from softhat.transformer.weights import Mask

Pair = tuple[int, int]
"""(function of the query's position, function of the key's position)."""


@dataclass(frozen=True, slots=True)
class SelectionTable:
    """b·[some pair holds], and c on the sinks, in logits."""

    mask: Mask
    pairs: frozenset[Pair]
    gain: Fraction
    sink: Fraction
    weights: tuple[float, ...]
    sharpness: float
    rows: int


@dataclass(frozen=True, slots=True)
class Codes:
    """(b/2)·Σ ±1·±1 over digits, and c on the sinks, in logits."""

    mask: Mask
    digits: tuple[Pair, ...]
    gain: Fraction
    """b: what one digit that differs costs."""
    sink: Fraction
    weights: tuple[float, ...]
    sharpness: float


@dataclass(frozen=True, slots=True)
class _Scored:
    """A head of a selection: what its scores are multiplied by, the sinks' score, the rows of
    queries and keys that compare bits, and all weights."""

    head: HeadWeights
    beta: Fraction
    sink: Fraction
    rows: list[tuple[Form, Form]]
    weights: tuple[float, ...]


def is_selection(head: HeadWeights, cells: list[Cell]) -> bool:
    """Do its scores read bits and the sinks only, and no position?"""
    forms = [form for form in (*head.query, *head.key) if form]
    read = [cells[at] for form in forms for at in form]
    features = {cell.base for cell in read if isinstance(cell, Feature)}
    bits = all(isinstance(cell, Bit | Zero | Feature) for cell in read)
    return bool(forms) and bits and features <= {"1", "ordinary"} and "1" in features


def read_selection(
    head: HeadWeights, cells: list[Cell], atoms: ProgramAtoms
) -> SelectionTable | Codes:
    """The head's scores as a table or as codes."""
    beta = Fraction(head.sharpness)
    rows: list[tuple[Form, Form]] = []
    sink: Fraction | None = None
    for query, key in zip(head.query, head.key, strict=True):
        if bool(query) != bool(key):
            raise VoidError("a query row and its key row do not both have weights")
        if not query:
            continue
        if is_sinks(key, cells):
            if sink is not None or not _is_one(query, cells):
                raise VoidError("the sinks have no score of their own")
            sink = beta * Fraction(next(iter(query.values())))
        else:
            rows.append((query, key))
    if sink is None:
        raise VoidError("the sinks have no score of their own")
    if not rows:
        raise VoidError("it matches nothing")
    numbers = {w for form in (*head.query, *head.key) for w in form.values()}
    scored = _Scored(head, beta, sink, rows, tuple(sorted(numbers)))
    doubled = any(abs(w) == 2.0 for _, key in rows for w in key.values())
    return _codes(scored, cells, atoms) if doubled else _table(scored, cells, atoms)


def _table(scored: _Scored, cells: list[Cell], atoms: ProgramAtoms) -> SelectionTable:
    pairs: list[Pair] = []
    gain: Fraction | None = None
    for query, key in scored.rows:
        unit = _unit(query)
        if gain is not None and gain != unit:
            raise VoidError("its matches have different scores")
        gain = unit
        asked = _literals({at: float(Fraction(w) / unit) for at, w in query.items()}, cells, atoms)
        held = _literals(key, cells, atoms)
        pairs += [(q, k) for q in asked for k in held]
    assert gain is not None
    space = atoms.space
    for at, (q, k) in enumerate(pairs):
        for q2, k2 in pairs[:at]:
            if space.both(q, q2) != space.false and not atoms.exclusive(k, k2):
                if atoms.exclusive(q, q2):
                    continue
                raise VoidError("a key can match in two ways at once")
    return SelectionTable(
        scored.head.mask,
        frozenset(pairs),
        gain * scored.beta,
        scored.sink,
        scored.weights,
        scored.head.sharpness,
        len(scored.rows),
    )


def _codes(scored: _Scored, cells: list[Cell], atoms: ProgramAtoms) -> Codes:
    digits: list[Pair] = []
    gain: Fraction | None = None
    for query, key in scored.rows:
        unit = _digit_unit(query, cells)
        if gain is not None and gain != unit:
            raise VoidError("its digits have different scores")
        gain = unit
        scaled = {at: float(Fraction(w) / unit) for at, w in query.items()}
        digits.append((_digit(scaled, cells, atoms), _digit(key, cells, atoms)))
    assert gain is not None
    # A digit adds ±unit: one that differs costs twice that.
    cost, head = 2 * gain * scored.beta, scored.head
    return Codes(head.mask, tuple(digits), cost, scored.sink, scored.weights, head.sharpness)


def is_sinks(form: Form, cells: list[Cell]) -> bool:
    """1 at the sinks, 0 elsewhere: one coordinate that holds 1, less one that holds `ordinary`."""
    read = sorted(((w, cells[at]) for at, w in form.items()), key=lambda pair: -pair[0])
    return read == [(1.0, Feature("1", 0)), (-1.0, Feature("ordinary", 0))]


def _is_one(form: Form, cells: list[Cell]) -> bool:
    return [cells[at] for at in form] == [Feature("1", 0)]


def _unit(form: Form) -> Fraction:
    """The least weight: all are integers times it."""
    unit = min(abs(Fraction(w)) for w in form.values())
    if any((Fraction(w) / unit).denominator != 1 for w in form.values()):
        raise VoidError("a query is no sum of bits")
    return unit


def _literals(form: Form, cells: list[Cell], atoms: ProgramAtoms) -> list[int]:
    """A sum of stored bits and negated ones: each negation takes one from `ordinary`."""
    literals = []
    ordinary = 0.0
    for at, weight in form.items():
        match cells[at]:
            case Feature("ordinary", 0):
                ordinary += weight
            case (Bit() | Zero()) as cell if weight in (1.0, -1.0):
                function = bit_of(cell, atoms)
                literals.append(function if weight > 0 else atoms.space.negation(function))
                ordinary += min(weight, 0.0)
            case _:
                raise VoidError("a category is no sum of stored bits")
    if ordinary < 0 or ordinary != int(ordinary):
        raise VoidError("a category is no sum of stored bits")
    return literals + [atoms.space.true] * int(ordinary)


def _digit_unit(form: Form, cells: list[Cell]) -> Fraction:
    for at, weight in form.items():
        if cells[at] == Feature("ordinary", 0):
            return abs(Fraction(weight))
    raise VoidError("a digit is no bit as ±1")


def _digit(form: Form, cells: list[Cell], atoms: ProgramAtoms) -> int:
    """±1 for a bit: 2·bit - 1 on the word's own positions, 0 at the sinks."""
    ordinary = sum(w for at, w in form.items() if cells[at] == Feature("ordinary", 0))
    bits = [(cells[at], w) for at, w in form.items() if cells[at] != Feature("ordinary", 0)]
    if not bits and abs(ordinary) == 1.0:
        return atoms.space.true if ordinary > 0 else atoms.space.false
    if len(bits) != 1 or not isinstance(bits[0][0], Bit | Zero):
        raise VoidError("a digit is no bit as ±1")
    cell, weight = bits[0]
    if (weight, ordinary) == (2.0, -1.0):
        return bit_of(cell, atoms)
    if (weight, ordinary) == (-2.0, 1.0):
        return atoms.space.negation(bit_of(cell, atoms))
    raise VoidError("a digit is no bit as ±1")
