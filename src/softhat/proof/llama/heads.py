"""The heads of a stock Llama, recognised from their weights, each with its theorem.

The score of key j for query i is Σ_p Re(q_p·conj(k_p)·e^(iω_p(i - j)))/√head_dim over rotary pairs.
A pair whose query and key are constants adds a function of the distance i - j, which is tabulated
for every distance; a slow pair whose second coordinates are 0 is read as the product of the first.
Nothing is taken from labels: a head is what its queries, keys and values are.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.llama.kinds import (
    HeadForms,
    LlamaHead,
    Pair,
    Role,
    Vector,
    check_doubled,
    constants_of,
)
from softhat.proof.llama.recalls import recall
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.counts import averaged, compared, nearest
from softhat.proof.stock.shifts import distance_of_turns
from softhat.proof.stock.variables import (
    LEVEL,
    BitCell,
    Cell,
    ConstantCell,
    Form,
    MeanCell,
    TableCell,
    function_of,
    literal,
)


def recognise(
    h: HeadForms, cells: list[Cell], number: int, atoms: BoundedAtoms
) -> tuple[LlamaHead, list[Cell]]:
    """The head and, for each value that it writes, what its coordinate then holds."""
    used = [
        p
        for p in range(len(h.frequencies))
        if any(f.weights for f in h.query[p]) and any(f.weights for f in h.key[p])
    ]
    if not used:
        return _average(h, cells, number, atoms)
    level = (1 << 50) + (number << 20)
    read = [cells[at] for p in used for f in h.query[p] for at in f.weights]
    if any(isinstance(cell, MeanCell) for cell in read):
        return _sign(h, used, cells, atoms, level)
    if any(isinstance(cell, BitCell) for cell in read):
        return recall(h, used, cells, atoms, level)
    pairs = [_pair(h, p, cells) for p in used]
    roles = {pair.role for pair in pairs}
    if "bos" in roles:
        if roles == {"bos"}:
            return _digit(h, pairs, cells, atoms)
        if roles != {"bos", "word"}:
            raise VoidError(f"{h.where} has scores that no kind of head has")
        return _shift(h, pairs, cells, atoms, level)
    pairs = [_read_as_it_is(h, pair) for pair in pairs]
    roles = {pair.role for pair in pairs}
    table = sum((_turning(h, pair, cells) for pair in pairs if pair.role == "distance"), _zeros(h))
    if "content" not in roles and h.context > 1 and table[1] > table[0]:
        return _previous(h, pairs, table, cells, atoms, level)
    return _latest(h, pairs, table, cells, atoms, level)


def _zeros(h: HeadForms) -> Vector:
    return np.zeros(h.context)


def _pair(h: HeadForms, p: int, cells: list[Cell]) -> Pair:
    query = [constants_of(form, cells) for form in h.query[p]]
    if query[0] is None or query[1] is None:
        raise VoidError(f"{h.where} has queries that no kind of head has")
    (q1, start1), (q2, start2) = query[0], query[1]
    if (q1, q2) != (start1, start2):
        raise VoidError(f"{h.where} has queries that <bos> does not share")
    key = [constants_of(form, cells) for form in h.key[p]]
    single = not h.key[p][1].weights
    role: Role = "content"
    if key[0] is not None and key[1] is not None:
        if key[0][0] == key[0][1] and key[1][0] == key[1][1]:
            role = "distance"
        elif key[0][0] == key[1][0] == 0:
            role = "bos"
        elif key[0][1] == key[1][1] == 0:
            role = "word"
    pair = Pair(p, role, complex(q1, q2), single)
    return pair if role != "content" else _read_as_it_is(h, pair)


def _read_as_it_is(h: HeadForms, pair: Pair) -> Pair:
    """A pair that carries content, where that does not turn."""
    if pair.role not in ("content", "word"):
        return pair
    if pair.query.imag != 0 or not pair.single:
        raise VoidError(f"{h.where} turns what its keys say of their positions")
    return replace(pair, role="content")


def _turning(h: HeadForms, pair: Pair, cells: list[Cell]) -> Vector:
    """What a pair of constants adds to the score at each distance."""
    ends = [constants_of(form, cells) for form in h.key[pair.pair]]
    assert ends[0] is not None and ends[1] is not None
    side = 1 if pair.role == "bos" else 0
    key = complex(ends[0][side], ends[1][side])
    angles = h.frequencies[pair.pair] * np.arange(h.context)
    turned = pair.query * key.conjugate() * np.exp(1j * angles) / h.root
    return np.asarray(turned.real, np.float64)


def _latest(
    h: HeadForms,
    pairs: list[Pair],
    table: Vector,
    cells: list[Cell],
    atoms: BoundedAtoms,
    level: int,
) -> tuple[LlamaHead, list[Cell]]:
    """Theorem 24. Scores T(i - j) + Q(j) - Π·bad_j, each step back costing at least C, over j <= i
    put all but e^-C/(1 - e^-C) + n·e^-clear on the last j <= i without bad: `<bos>` is never bad,
    the others without bad lose C a step, those with bad lie `clear` below all without."""
    total: dict[int, Fraction] = {}
    for pair in pairs:
        if pair.role == "content":
            for at, w in h.key[pair.pair][0].weights.items():
                share = Fraction(pair.query.real) * Fraction(w) / Fraction(h.root)
                total[at] = total.get(at, Fraction(0)) + share
    bits = [at for at, w in total.items() if w and isinstance(cells[at], BitCell)]
    tables = [at for at, w in total.items() if w and isinstance(cells[at], TableCell)]
    if len(bits) > 1:
        raise VoidError(f"{h.where} rules out keys by several bits")
    step = float(-np.diff(table).max()) if h.context > 1 else 0.0
    candidates: list[int | None] = [*bits] or [None, *tables, _EVERY]
    for ruling in candidates:  # a predicate of the position can rule out keys too
        found = _ruled(h, total, cells, ruling, atoms, table, step)
        if found is not None:
            bad, gap, clear, reach = found
            break
    else:
        raise VoidError(f"{h.where} has scores that do not fall with the distance")
    if clear <= 0:
        raise VoidError(f"{h.where} does not put ruled-out keys below all others")
    check_doubled(h)
    made: list[Cell] = []
    for form in h.values:
        held = literal(form, cells, atoms, f"{h.where}: a value")
        if atoms.space.both(bad, held) != atoms.space.false:
            raise VoidError(f"{h.where}: its value does not imply that the key is not ruled out")
        made.append(BitCell(atoms.since(bad, held, "past", level)))
    return LlamaHead(h.block, h.head, "Latest", tuple(pairs), gap, clear, reach), made


_EVERY = -1
"""Instead of a coordinate: every position of the word is bad, as where a predicate that is stored
as `bad` holds at all positions of the context."""


def _ruled(
    h: HeadForms,
    total: dict[int, Fraction],
    cells: list[Cell],
    ruling: int | None,
    atoms: BoundedAtoms,
    table: Vector,
    step: float,
) -> tuple[int, float, float, float] | None:
    """With the coordinate `ruling` (or every position of the word) as bad: bad, the least step, how
    far ruled-out keys lie below all others, and the largest |score| of those; None if scores do not
    fall with the distance."""
    places = np.zeros(h.context)
    own = start = size = Fraction(0)
    penalty, bad = Fraction(0), atoms.space.false
    for at, w in total.items():
        cell = cells[at]
        size += abs(w) * 2
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
            case _ if w:
                return None
    if ruling == _EVERY:  # what sets <bos> apart is the penalty of all others
        penalty, bad, own = start - own, atoms.space.true, start
    places[1:] += float(own)
    places[0] += float(start)
    slack = (float(size) + float(np.abs(table).max())) * (len(total) + 8) * 2.0**-50
    rises = float(np.diff(places).min()) if h.context > 1 else 0.0
    gap = step + rises - slack
    if gap <= 0:
        return None
    spread = float(np.ptp(table)) + float(np.ptp(places)) + slack
    reach = float(np.abs(table).max() + np.abs(places).max()) + slack
    return bad, gap, float(penalty) - spread if ruling is not None else inf, reach


def _previous(
    h: HeadForms,
    pairs: list[Pair],
    table: Vector,
    cells: list[Cell],
    atoms: BoundedAtoms,
    level: int,
) -> tuple[LlamaHead, list[Cell]]:
    """Theorem 25. Scores T(i - j) with T(1) - T(d) >= C for every other distance d put all but
    n·e^-C on j = i-1 (`<bos>` for i = 1)."""
    slack = float(np.abs(table).max()) * (len(pairs) + 8) * 2.0**-50
    gap = float((table[1] - np.delete(table, 1)).min()) - slack
    if gap <= 0:
        raise VoidError(f"{h.where} has scores that do not single out the position before")
    check_doubled(h)
    made: list[Cell] = [
        BitCell(atoms.earlier(literal(form, cells, atoms, f"{h.where}: a value"), 1, level))
        for form in h.values
    ]
    reach = float(np.abs(table).max()) + slack
    return LlamaHead(h.block, h.head, "Previous", tuple(pairs), gap, reach=reach), made


def _shift(
    h: HeadForms, pairs: list[Pair], cells: list[Cell], atoms: BoundedAtoms, level: int
) -> tuple[LlamaHead, list[Cell]]:
    """Theorem 39: what turns on the word's own positions, against a score of `<bos>`."""
    tables = {
        role: sum((_turning(h, pair, cells) for pair in pairs if pair.role == role), _zeros(h))
        for role in ("word", "bos")
    }
    reach = max(float(np.abs(table).max()) for table in tables.values())
    slack = sum(_extent(h, pair, cells) for pair in pairs) * (len(pairs) + 8) * 2.0**-50
    distance, gap = distance_of_turns(tables["word"], tables["bos"], slack, h.where)
    check_doubled(h)
    made: list[Cell] = [
        BitCell(atoms.earlier(literal(form, cells, atoms, f"{h.where}: a value"), distance, level))
        for form in h.values
    ]
    return LlamaHead(h.block, h.head, "Shift", tuple(pairs), gap, reach=reach + slack), made


def _extent(h: HeadForms, pair: Pair, cells: list[Cell]) -> float:
    """No score of a pair of constants is larger, however it turns."""
    ends = [constants_of(form, cells) for form in h.key[pair.pair]]
    sizes = [max(map(abs, end)) for end in ends if end is not None]
    return abs(pair.query) * sum(sizes) / h.root * h.context


def _digit(
    h: HeadForms, pairs: list[Pair], cells: list[Cell], atoms: BoundedAtoms
) -> tuple[LlamaHead, list[Cell]]:
    """Theorem 26. With a score only for `<bos>`, U(i), a head whose value is 1 on the word's own
    positions and 0 on `<bos>` returns 1 where U(i) < 0, up to e^U(i), and else 0, up to
    n·e^-U(i)."""
    scores = sum((_turning(h, pair, cells) for pair in pairs), _zeros(h))
    if len(pairs) != 1 or not pairs[0].single or (scores[1:] == 0).any():
        raise VoidError(f"{h.where} does not decide by one pair between <bos> and the word")
    if any(literal(f, cells, atoms, f"{h.where}: a value") != atoms.space.true for f in h.values):
        raise VoidError(f"{h.where} decides, but its value is not 1 on the word's own positions")
    check_doubled(h)
    values = np.where(scores < 0, 1.0, -1.0)
    values[0] = -1.0
    made: list[Cell] = [TableCell(atoms.table(values[1:] > 0, LEVEL), values) for _ in h.values]
    return LlamaHead(h.block, h.head, "Digit", tuple(pairs), scores=scores), made


def _average(
    h: HeadForms, cells: list[Cell], number: int, atoms: BoundedAtoms
) -> tuple[LlamaHead, list[Cell]]:
    """Theorem 19: a head without scores."""
    made, counts = averaged(h.values, h.targets, cells, number, atoms, h.where)
    return LlamaHead(h.block, h.head, "Average", counts=counts), made


def _sign(
    h: HeadForms, used: list[int], cells: list[Cell], atoms: BoundedAtoms, level: int
) -> tuple[LlamaHead, list[Cell]]:
    """Theorem 20: a head whose only row compares a mean."""
    if len(used) != 1 or h.query[used[0]][1].weights or h.key[used[0]][1].weights:
        raise VoidError(f"{h.where} compares by more than one row")
    row = h.query[used[0]][0], h.key[used[0]][0]
    function, least = compared(*row, h.root, h.values, cells, atoms, level, h.where)
    check_doubled(h)
    pair = Pair(used[0], "content", 0j, True)
    made: list[Cell] = [BitCell(function) for _ in h.values]
    decision = float(least / h.context)
    scores = _positional(row[0], cells, least, h.context)
    return LlamaHead(h.block, h.head, "Sign", (pair,), decision=decision, scores=scores), made


def _positional(query: Form, cells: list[Cell], least: Fraction, context: int) -> Vector | None:
    """The |scores| of a Sign at each position, if they do not depend on the word: those of a mean
    that counts positions alone, which is small only near its threshold."""
    (mean,) = (cells[p] for p in query.weights)
    assert isinstance(mean, MeanCell)
    if mean.terms:
        return None
    nearest_zero, _ = nearest(mean.bos, abs(mean.base))
    slope = least / nearest_zero
    sizes = [slope * abs(mean.base * i + mean.bos) / (i + 1) for i in range(context)]
    return np.array([float(size) for size in sizes])
