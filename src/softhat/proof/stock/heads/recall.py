"""Recall: the value at the last key that has the query's code.

**Theorem 38.** Scores T(j) on the word, less a penalty where a digit of j is not i's, and less Π
where j is bad; T(0) on `<bos>`, where no digit differs. T rises by C or more a step on the word. If
on the word T lies `clear` or more above T(0), and less the least penalty `clear` or more below it,
then all but e^-C/(1 - e^-C) + n·e^-clear is on the last key without bad that has i's code, or on
`<bos>` if there is none: keys with i's code lose C a step, every other key has a penalty.

The rows of queries and keys are GPT-2's, or the slow pairs of a Llama.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from softhat.io.errors import VoidError
from softhat.numbers.rationals import power_of_two
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.kind import (
    Gaps,
    HeadForms,
    Lookup,
    Pair,
    StockScores,
    Vector,
    constants_of,
    is_read,
    stepwise,
)
from softhat.proof.stock.pair_scores import PairScores
from softhat.proof.stock.rotary import TurnedScores
from softhat.proof.stock.storage import SECOND, U, lost, need
from softhat.proof.stock.variables import (
    BitCell,
    Cell,
    ConstantCell,
    Form,
    TableCell,
    function_of,
    split,
)


@dataclass(frozen=True, slots=True)
class _Conflict:
    """A row that costs `penalty` where `query` holds at i and `key` at j."""

    row: int
    query: int
    key: int
    penalty: Fraction


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RecallHead(Lookup):
    """Softmax of T(j) less penalties."""

    kind = "Recall"

    anchored: float
    """The largest |score| of a key with the query's code."""
    compares: tuple[tuple[int, int], ...]
    """The two rows that compare each digit."""
    others: tuple[int, ...] = ()
    """The rows that rule out keys by a bit, or hold for `<bos>` alone."""
    zeros: tuple[tuple[int, int, float], ...] = ()
    """(row, variable, value) where a key is exactly 0 on the word if the variable has this value
    exactly; the variable is -1 where it is so anyway."""

    def leak(self, gaps: Gaps, keys: int) -> float:
        return stepwise(gaps, keys)

    def gaps(self, scores: StockScores) -> Gaps:
        match scores:
            case PairScores() if scores.storage.wide:
                return unturned_gaps(self, scores)
            case TurnedScores():
                return turned_gaps(self, scores)
        need(not scores.constant_queries, "Recall heads: nothing is proved of a disguised one")
        return scores.gaps(self)


def unturned_gaps(head: RecallHead, scores: PairScores) -> Gaps:
    """In float32, of queries and keys without biases.

    After LayerNorm the value of a pair is s·(v + e), with one scale s for a whole position, |s - 1|
    <= `scale`, and e the pair's own error: of the stored bit and of the last roundings. So a query
    is s_i(q* + a), a key s_j(k* + b), where a and b are sums of own errors and the rounding of the
    sum itself, and a score is s_i·s_j·(S* + Σ(a·k* + q*·b + a·b)/√d), up to the rounding of that
    sum of products.

    Two keys j, j' with i's code: in each row that compares digits k* is the same at both, so what
    the query is off by, a·k*, moves both scores alike, but for s_j against s_j'. Of the two rows of
    a digit one has q* = 0. All products q*·k* of these rows are 0, so what is rounded is as small
    as the other rows. |S*| is at most `anchored` at both, so the scales cost 2·scale·anchored and a
    share `scale` of the gap. Keys with other codes, or ruled out, and `<bos>` have no such luck:
    there all of it counts, and |S*| is at most the sum of all products."""
    q, a, k, b = (
        *(scores.own_query.size, scores.own_query.off),
        *(scores.own_key.size, scores.own_key.off),
    )
    root, size, scale = scores.root, scores.size, scores.scale
    terms = np.count_nonzero(q) + 2
    one, other = np.array(head.compares).T
    rest = np.ones(len(q), np.bool_)
    rest[[*one, *other]] = False
    by_key = float(np.maximum(q[one] * b[one], q[other] * b[other]).sum() + q[rest] @ b[rest])
    apart = (by_key + float(a[rest] @ k[rest] + a @ b)) / root
    alike = float(a[~rest] @ k[~rest]) / root
    added = terms * U * (float(q[rest] @ k[rest]) / root + apart + alike)
    near = 2 * (apart + added) + 2 * scale * (alike + head.anchored) + scale * head.gap
    far = 2 * (float(a @ k + q @ b + a @ b) / root + terms * U * size) + 5 * scale * size
    return Gaps(head.gap - SECOND * near, head.clear - SECOND * far)


def turned_gaps(head: RecallHead, scores: TurnedScores) -> Gaps:
    """Keys that may win have the query's code and are not ruled out. In a row that compares digits,
    or rules out, either such a key is a bit that rests, which reads as exactly 0 whatever RMSNorm's
    factor is, or the query is 0 up to its own error, which moves all such keys alike. What is left
    is T: the digits of positions, by products that are small beside the penalties. Other keys, and
    `<bos>`, have all errors against them; they are far away."""
    rotary, query, key = scores.rotary, scores.query, scores.key
    compares = [*(row for both in head.compares for row in both), *head.others]
    steps = [pair for pair in head.pairs if pair.pair not in compares]
    exact = {p for p, at, value in head.zeros if at < 0 or scores.resting.rests(at, value)}
    alike = by_key = moved = 0.0
    for p in compares:
        moved += query.error(p) * key.length(p)
        alike += query.error(p) * (key.error(p) + key.length(p) * rotary.slow(p))
        # Float64 keeps tails, which are below a quarter of float32's unit.
        zero = key.length(p) * U / 4 if p in exact else key.error(p)
        by_key += (query.length(p) + query.error(p)) * zero
    size = sum(query.length(pair.pair) * key.length(pair.pair) for pair in steps)
    rounding = (2 * len(head.pairs) + 6) * U * (size + moved + by_key)
    root = float(len(query.size)) ** 0.5
    # Rows that compare turn slowly (`slow` is finite): queries and keys grow by less than
    # 3.5v + 5u < 0.015 as they are turned, both by less than 1.031, and by 1.04 as they are stored.
    near = rotary.off(steps, query, key) + 1.1 * (alike + by_key + rounding) / root
    if not scores.fused and not scores.storage.wide:  # what is stored is moved, too
        near += 2.1 * scores.storage.unit * (moved + by_key) / root  # (2 + 2^-8)·1.04 < 2.1
    return scores.less(head, 2 * near, 2 * rotary.off(head.pairs, query, key))


def fits(h: HeadForms, cells: list[Cell]) -> bool:
    """Queries have digits, and queries or keys stored bits."""
    asked, held = [*h.asked(cells)], h.held(cells)
    digits = any(isinstance(cell, BitCell | TableCell) for cell in asked)
    return digits and any(isinstance(cell, BitCell) for cell in (*asked, *held))


def recognise(
    h: HeadForms, cells: list[Cell], atoms: BoundedAtoms
) -> tuple[RecallHead, list[Cell]]:
    """By rows that do not turn, or slow pairs, read as they are."""
    used = h.used
    if any(is_read(h.query[p][1]) or is_read(h.key[p][1]) for p in used):
        raise VoidError(f"{h.where} turns what its keys say of themselves")
    rows = {p: (h.query[p][0], h.key[p][0]) for p in used}
    scores = read_recall(rows, Fraction(h.root), h.context, cells, atoms, h.where)
    functions = []
    for value in h.literals(cells, atoms):
        if atoms.space.both(scores.bad, value) != atoms.space.false:
            raise VoidError(f"{h.where}: its value does not imply that the key is not ruled out")
        functions.append(atoms.recall(scores.bad, scores.digits, value, h.level))
    others = [*scores.rules]
    others += [p for p in used if (ends := constants_of(rows[p][1], cells)) and not ends[0]]
    ruling = [*(row for both in scores.compares for row in both), *others]
    zeros = [(p, *zero) for p in ruling if (zero := exactly_zero(rows[p][1], cells))]
    head = RecallHead(
        block=h.block,
        head=h.head,
        pairs=tuple(Pair(p, "content", 0j, True) for p in used),
        gap=scores.gap,
        clear=scores.clear,
        sizes=np.abs(scores.places),
        anchored=float(np.abs(scores.places[1:]).max()),
        compares=scores.compares,
        others=tuple(others),
        zeros=tuple(zeros),
    )
    return head, h.written(functions)


def exactly_zero(form: Form, cells: list[Cell]) -> tuple[int, float] | None:
    """Where a form is exactly 0 on the word, however RMSNorm scales it: it reads one constant of
    size 1 and one bit, by weights of one size; or nothing that is not 0 there. The size is a power
    of two: other products round, and one that is fused with its sum does not cancel the other."""
    read = {p: w for p, w in form.weights.items() if cells[p] != ConstantCell(0.0, 1.0)}
    if form.constant:
        return None
    if not read:
        return -1, 0.0
    bits = [p for p in read if isinstance(cells[p], BitCell)]
    constants = [cell for p in read if isinstance(cell := cells[p], ConstantCell)]
    if len(read) != 2 or len(bits) != 1 or len(constants) != 1 or abs(constants[0].ordinary) != 1:
        return None
    (one,) = (p for p in read if p not in bits)
    if abs(read[one]) != abs(read[bits[0]]) or not power_of_two(float(abs(read[one]))):
        return None
    value = -read[one] * constants[0].ordinary / read[bits[0]]
    return bits[0], value


@dataclass(frozen=True, slots=True, eq=False)
class RecallScores:
    """What the scores of a Recall are."""

    bad: int
    digits: tuple[tuple[int, int], ...]
    """(query, key) of each digit that is compared."""
    gap: float
    clear: float
    places: Vector
    """T at every position, `<bos>` first."""
    compares: tuple[tuple[int, int], ...]
    """The two rows that compare each digit."""
    rules: tuple[int, ...]
    """The rows that rule out keys by a bit."""


def read_recall(
    rows: Mapping[int, tuple[Form, Form]],
    root: Fraction,
    context: int,
    cells: list[Cell],
    atoms: BoundedAtoms,
    where: str,
) -> RecallScores:
    """The scores Σ query·key/root of these rows, if they are a Recall's."""
    total: dict[int, Fraction] = {}
    conflicts: list[_Conflict] = []
    rules: list[int] = []
    for at, (q, k) in rows.items():
        if q.constant or k.constant:
            raise VoidError(f"{where} recalls with a bias")
        asked = split(q, cells)
        if not asked.bits and not asked.others and asked.bos == asked.ordinary:
            for p, w in k.weights.items():
                total[p] = total.get(p, Fraction(0)) + asked.ordinary / root * Fraction(w)
            if any(isinstance(cells[p], BitCell) for p in k.weights):
                rules.append(at)
            continue
        (query, u), (key, v) = _bit(q, cells, atoms, where), _bit(k, cells, atoms, where)
        if split(k, cells).bos != 0:
            raise VoidError(f"{where}: a key's digit is not 0 at <bos>")
        if u * v >= 0:
            raise VoidError(f"{where} prefers keys with other digits")
        conflicts.append(_Conflict(at, query, key, -u * v / root))
    partners = _partners(conflicts, atoms, where)
    bad, penalty, places = _places(context, total, cells, atoms, where)
    ruled_out = min([c.penalty for c in conflicts] + ([penalty] if penalty else []))
    size = sum(map(abs, total.values()), Fraction(0))
    # What floating point may have lost of sums that are exact up to here.
    slack = lost(float(size), len(total))
    gap = float(np.diff(places[1:]).min(initial=float(2 * size))) - slack
    above = float(places[1:].min()) - float(places[0])
    below = float(places[0]) - float(places[1:].max()) + float(ruled_out)
    clear = min(above, below) - slack
    if gap <= 0:
        raise VoidError(f"{where} has scores that do not rise with the position")
    if clear <= 0:
        raise VoidError(f"{where} does not part keys with the query's code from others by <bos>")
    return RecallScores(
        bad=bad,
        digits=tuple((one.query, atoms.space.negation(one.key)) for one, _ in partners),
        gap=gap,
        clear=clear,
        places=places,
        compares=tuple((one.row, other.row) for one, other in partners),
        rules=tuple(rules),
    )


def _bit(form: Form, cells: list[Cell], atoms: BoundedAtoms, where: str) -> tuple[int, Fraction]:
    """A form that on the word is u times a stored bit as 0 or 1, or times its negation."""
    parts = split(form, cells)
    if parts.others or len(parts.bits) != 1:
        raise VoidError(f"{where}: a row compares something that is not one stored bit")
    ((p, w),) = parts.bits.items()
    if abs(parts.ordinary) != abs(w) or not w:
        raise VoidError(f"{where}: a row compares something that is not 0 or 1")
    function = function_of(cells[p])
    if parts.ordinary == w:
        return function, 2 * w
    return atoms.space.negation(function), -2 * w


def _partners(
    conflicts: list[_Conflict], atoms: BoundedAtoms, where: str
) -> list[tuple[_Conflict, _Conflict]]:
    """The two rows of each digit: 1 here and 0 there, and the other way round."""
    space = atoms.space
    by_pair = {(c.query, c.key): c for c in conflicts}
    if len(by_pair) != len(conflicts) or not conflicts:
        raise VoidError(f"{where} compares a digit twice, or none")
    partners = []
    while by_pair:
        (query, key), one = by_pair.popitem()
        other = by_pair.pop((space.negation(query), space.negation(key)), None)
        if other is None:
            raise VoidError(f"{where}: a digit that differs costs something one way only")
        partners.append((one, other))
    return partners


def _places(
    context: int, total: dict[int, Fraction], cells: list[Cell], atoms: BoundedAtoms, where: str
) -> tuple[int, Fraction, Vector]:
    """What rules out keys, its penalty Π, and T at every position, `<bos>` first."""
    ruling = [p for p, w in total.items() if w and isinstance(cells[p], BitCell)]
    if len(ruling) > 1:
        raise VoidError(f"{where} rules out keys by several bits")
    places = np.zeros(context)
    own = start = Fraction(0)
    bad, penalty = atoms.space.false, Fraction(0)
    for p, w in total.items():
        match cells[p]:
            case BitCell(function) if w:  # w·v is -|w| or |w|: the better of the two is no penalty
                bad = function if w < 0 else atoms.space.negation(function)
                penalty = 2 * abs(w)
                own += abs(w)
                start -= w  # a bit is -1 at <bos>
            case TableCell(values=table):
                places += float(w) * table
            case ConstantCell(ordinary, bos):
                own += w * Fraction(ordinary)
                start += w * Fraction(bos)
            case _ if w:
                raise VoidError(f"{where} has scores that no kind of head has")
    places[1:] += float(own)
    places[0] += float(start)
    return bad, penalty, places
