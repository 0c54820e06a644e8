"""Recall: the value at the last key that has the query's code, recognised from weights.

**Theorem 38.** Scores T(j) on the word, less a penalty where a digit of j is not i's, and less Π
where j is bad; T(0) on `<bos>`, where no digit differs. T rises by C or more a step on the word. If
on the word T lies `clear` or more above T(0), and less the least penalty `clear` or more below it,
then all but e^-C/(1 - e^-C) + n·e^-clear is on the last key without bad that has i's code, or on
`<bos>` if there is none: keys with i's code lose C a step, every other key has a penalty.

The rows of queries and keys are GPT-2's, or the slow pairs of a Llama.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.variables import (
    BitCell,
    Cell,
    ConstantCell,
    Form,
    TableCell,
    function_of,
    literal,
    split,
)


@dataclass(frozen=True, slots=True)
class _Conflict:
    """A row that costs `penalty` where `query` holds at i and `key` at j."""

    row: int
    query: int
    key: int
    penalty: Fraction


@dataclass(frozen=True, slots=True, eq=False)
class RecallScores:
    """What the scores of a Recall are."""

    bad: int
    digits: tuple[tuple[int, int], ...]
    """(query, key) of each digit that is compared."""
    gap: float
    clear: float
    places: NDArray[np.float64]
    """T at every position, `<bos>` first."""
    compares: tuple[tuple[int, int], ...]
    """The two rows that compare each digit."""
    rules: tuple[int, ...]
    """The rows that rule out keys by a bit."""

    @property
    def anchored(self) -> float:
        """The largest |score| of a key with the query's code."""
        return float(np.abs(self.places[1:]).max())

    def value(self, form: Form, cells: list[Cell], atoms: BoundedAtoms, level: int, at: str) -> int:
        """What the head returns of a value that it writes."""
        kept = literal(form, cells, atoms, f"{at}: a value")
        if atoms.space.both(self.bad, kept) != atoms.space.false:
            raise VoidError(f"{at}: its value does not imply that the key is not ruled out")
        return atoms.recall(self.bad, self.digits, kept, level)


def read_recall(
    rows: Sequence[tuple[Form, Form]],
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
    for at, (q, k) in enumerate(rows):
        if not (q.weights or q.constant) or not (k.weights or k.constant):
            continue
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
    lost = min([c.penalty for c in conflicts] + ([penalty] if penalty else []))
    size = sum(map(abs, total.values()), Fraction(0))
    # What floating point may have lost of sums that are exact up to here.
    slack = float(size) * (len(total) + 4) * 2.0**-52
    gap = float(np.diff(places[1:]).min(initial=float(2 * size))) - slack
    above = float(places[1:].min()) - float(places[0])
    below = float(places[0]) - float(places[1:].max()) + float(lost)
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
    found = split(form, cells)
    if found.others or len(found.bits) != 1:
        raise VoidError(f"{where}: a row compares something that is not one stored bit")
    ((p, w),) = found.bits.items()
    if abs(found.ordinary) != abs(w) or not w:
        raise VoidError(f"{where}: a row compares something that is not 0 or 1")
    function = function_of(cells[p])
    if found.ordinary == w:
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
    found = []
    while by_pair:
        (query, key), one = by_pair.popitem()
        other = by_pair.pop((space.negation(query), space.negation(key)), None)
        if other is None:
            raise VoidError(f"{where}: a digit that differs costs something one way only")
        found.append((one, other))
    return found


def _places(
    context: int, total: dict[int, Fraction], cells: list[Cell], atoms: BoundedAtoms, where: str
) -> tuple[int, Fraction, NDArray[np.float64]]:
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
