"""Recall in a stock Llama: its slow pairs, and how far its scores may be off.

Keys that may win have the query's code and are not ruled out. In a row that compares digits, or
rules out, either such a key is a bit that rests, which reads as exactly 0 whatever RMSNorm's factor
is, or the query is 0 up to its own error, which moves all such keys alike. What is left is T: the
digits of positions, by products that are small beside the penalties. Other keys, and `<bos>`, have
all errors against them; they are far away.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.llama.kinds import HeadForms, LlamaHead, Pair, check_doubled, constants_of
from softhat.proof.llama.scores import RotaryScores, StoredRows
from softhat.proof.scores import power_of_two
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.recalls import read_recall
from softhat.proof.stock.storage import U
from softhat.proof.stock.variables import BitCell, Cell, ConstantCell, Form


@dataclass(frozen=True, slots=True)
class Resting:
    """Which coordinates are exactly what they started as. A bit where no term of its gate holds is,
    if the tails of its units are lost in it (`quiet`); one of the embedding is exact anyway."""

    start: list[Cell]
    quiet: set[int]

    def rests(self, coordinate: int, value: float) -> bool:
        """Is a coordinate, where it has this value, exactly that?"""
        cell = self.start[coordinate]
        if isinstance(cell, ConstantCell):
            return cell.ordinary == value and coordinate in self.quiet
        return isinstance(cell, BitCell)


def apart(
    scores: RotaryScores, head: LlamaHead, query: StoredRows, key: StoredRows, resting: Resting
) -> tuple[float, float]:
    """How far the scores of two keys that may win may be off against each other, and those of any
    two: of every kind of head that looks something up."""
    match head.kind:
        case "Shift":
            off = scores.apart(head, query, key)
        case "Recall":
            return recall_errors(scores, head, query, key, resting)
        case _:
            off = 2 * scores.off(head.pairs, query, key)
    return off, off


def recall(
    h: HeadForms, used: list[int], cells: list[Cell], atoms: BoundedAtoms, level: int
) -> tuple[LlamaHead, list[Cell]]:
    """Theorem 38 by slow pairs, read as they are."""
    if any(h.query[p][1].weights or h.key[p][1].weights for p in used):
        raise VoidError(f"{h.where} turns what its keys say of themselves")
    rows = [(h.query[p][0], h.key[p][0]) for p in used]
    found = read_recall(rows, Fraction(h.root), h.context, cells, atoms, h.where)
    check_doubled(h)
    made: list[Cell] = [
        BitCell(found.value(form, cells, atoms, level, h.where)) for form in h.values
    ]
    compares = [used[at] for both in found.compares for at in both]
    others = [used[at] for at in found.rules]
    others += [p for p in used if (ends := constants_of(h.key[p][0], cells)) and not ends[0]]
    zeros = [(p, *zero) for p in (*compares, *others) if (zero := _zero(h.key[p][0], cells))]
    return LlamaHead(
        h.block,
        h.head,
        "Recall",
        tuple(Pair(p, "content", 0j, True) for p in used),
        found.gap,
        found.clear,
        float(np.abs(found.places).max()),
        compares=(*compares, *others),
        zeros=tuple(zeros),
    ), made


def _zero(form: Form, cells: list[Cell]) -> tuple[int, float] | None:
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


def recall_errors(
    scores: RotaryScores, head: LlamaHead, query: StoredRows, key: StoredRows, resting: Resting
) -> tuple[float, float]:
    """How far the scores of two keys that may win may be off against each other, and those of any
    two keys."""
    steps = [pair for pair in head.pairs if pair.pair not in head.compares]
    exact = {p for p, at, value in head.zeros if at < 0 or resting.rests(at, value)}
    alike = by_key = moved = 0.0
    for p in head.compares:
        moved += query.error(p) * key.length(p)
        alike += query.error(p) * (key.error(p) + key.length(p) * scores.slow(p))
        # Float64 keeps tails, which are below a quarter of float32's unit.
        zero = key.length(p) * U / 4 if p in exact else key.error(p)
        by_key += query.length(p) * zero
    size = sum(query.length(pair.pair) * key.length(pair.pair) for pair in steps)
    rounding = (2 * len(head.pairs) + 6) * U * (size + moved + by_key)
    root = float(len(query.size)) ** 0.5
    near = scores.off(steps, query, key) + 1.1 * (alike + by_key + rounding) / root
    if not scores.fused and not scores.storage.wide:  # what is stored is moved, too
        near += 2.1 * scores.storage.unit * (moved + by_key) / root
    return 2 * near, 2 * scores.off(head.pairs, query, key)
