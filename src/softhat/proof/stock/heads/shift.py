"""Shift: the value a fixed number of positions before.

**Theorem 18** (codes). Scores Σ_b w_b·s_b(i)·t_b(j), w_b > 0, with signs t_b = ±1 that tell all
positions apart and s_b(i) = t_b(max(i - D, 0)), put all but Π(1 + e^-2w_b) - 1 on j = i - D, or on
`<bos>` where there is no such position: each digit that differs costs 2·w_b, and different
positions differ in different sets of digits.

**Theorem 39** (turning). Scores T(i - j) on the word's own positions and U(i) on `<bos>`. If for
every i > D T(D) is at least C above all other T(d), d < i, and above U(i), and for every i <= D
U(i) is at least C above all T(d), d < i, then all but n·e^-C is on j = i - D, or on `<bos>` where
there is no such position.

`<bos>` has the value 0, so either head returns the value at i - D, and 0 where that is no position.
Both are recognised here for every distance D >= 1; GPT-2's positions are codes, Llama's turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf

import numpy as np

from softhat.io.errors import VoidError
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.kind import Gaps, HeadForms, Lookup, Pair, StockScores, Vector
from softhat.proof.stock.rotary import TurnedScores
from softhat.proof.stock.storage import SECOND
from softhat.proof.stock.variables import Cell, ConstantCell, TableCell


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShiftHead(Lookup):
    """Softmax of what tells distances, or positions, apart."""

    kind = "Shift"

    digits: int
    """Of codes; 0 where distances turn."""

    def leak(self, gaps: Gaps, keys: int) -> float:
        if self.digits:
            return float((1 + exp(-gaps.gap)) ** self.digits - 1)
        return keys * exp(-gaps.gap)

    def gaps(self, scores: StockScores) -> Gaps:
        """Of two keys that turn at most one is `<bos>`, whose key is 0, up to its error, where the
        others' are not, and the other way round."""
        if not isinstance(scores, TurnedScores):
            return scores.gaps(self)
        rotary, query, key = scores.rotary, scores.query, scores.key
        word, bos = (
            rotary.off([pair for pair in self.pairs if pair.role == role], query, key)
            for role in ("word", "bos")
        )
        zeros = 0.0
        for pair in self.pairs:
            length = query.length(pair.pair) + query.error(pair.pair)
            zeros += length * key.error(pair.pair) * (1 + rotary.turned(pair))
        # Of two keys; scores that are stored twice are off by (1 + 2^-8)² < SECOND.
        off = word + max(word, bos) + 2 * SECOND * zeros / float(len(query.size)) ** 0.5
        return scores.less(self, off, off)


def compares_codes(h: HeadForms, cells: list[Cell]) -> bool:
    """Rows do not turn, and queries and keys tell positions by digits alone."""
    digits = all(isinstance(c, TableCell | ConstantCell) for c in (*h.asked(cells), *h.held(cells)))
    asked = all(any(form.weights for form in h.query[p]) for p in h.used)
    return digits and asked and not h.frequencies[h.used].any()


def fits(h: HeadForms, cells: list[Cell]) -> bool:
    return compares_codes(h, cells) or {p.role for p in h.pairs(cells)} == {"bos", "word"}


def recognise(h: HeadForms, cells: list[Cell], atoms: BoundedAtoms) -> tuple[ShiftHead, list[Cell]]:
    distance, head = (_codes if compares_codes(h, cells) else _turns)(h, cells)
    functions = [atoms.earlier(value, distance, h.level) for value in h.literals(cells, atoms)]
    return head, h.written(functions)


def _codes(h: HeadForms, cells: list[Cell]) -> tuple[int, ShiftHead]:
    """Each row compares a digit of a position before with the key's."""
    weights: list[float] = []
    asked: list[Vector] = []
    held: list[Vector] = []
    for p in h.used:
        query, key = h.query[p][0], h.key[p][0]
        if len(query.weights) != 1 or len(key.weights) != 1 or query.constant or key.constant:
            raise VoidError(f"{h.where} has a row that is not one digit against one digit")
        ((a, u),), ((b, v),) = query.weights.items(), key.weights.items()
        before, digit = _digits(cells[a], h.context), _digits(cells[b], h.context)
        if before is None or digit is None:
            raise VoidError(f"{h.where} has scores that no kind of head has")
        weights.append(abs(u * v) / h.root)
        asked.append(before if u * v > 0 else -before)
        held.append(digit)
    distance = distance_of_codes(asked, held, h.where)
    return distance, ShiftHead(
        block=h.block,
        head=h.head,
        pairs=tuple(Pair(p, "content", 0j, True) for p in h.used),
        gap=2 * min(weights),
        clear=inf,
        sizes=np.array([sum(weights), *weights]),
        digits=len(weights),
    )


def _digits(cell: Cell, context: int) -> Vector | None:
    """A variable that is ±1 at each position, as a table; a digit may be the same at all."""
    match cell:
        case TableCell(values=values):
            return values
        case ConstantCell(ordinary, bos) if abs(ordinary) == abs(bos) == 1:
            return np.array([bos] + [ordinary] * (context - 1))
    return None


def _turns(h: HeadForms, cells: list[Cell]) -> tuple[int, ShiftHead]:
    """What turns on the word's own positions, against a score of `<bos>`."""
    pairs = h.pairs(cells)
    word, bos = (h.turning(pairs, role, cells) for role in ("word", "bos"))
    slack = h.lost_turning(pairs, cells)
    distance, gap = distance_of_turns(word, bos, slack, h.where)
    sizes = np.maximum(np.abs(word), np.abs(bos))
    return distance, ShiftHead(
        block=h.block,
        head=h.head,
        pairs=tuple(pairs),
        gap=gap,
        clear=inf,
        sizes=sizes,
        digits=0,
    )


def distance_of_codes(asked: Sequence[Vector], held: Sequence[Vector], where: str) -> int:
    """D of Theorem 18. `asked` and `held` are the ±1 digits of queries and of keys at every
    position, `<bos>` first, with the signs by which a digit that is the same adds to the score."""
    query, key = np.stack(asked) > 0, np.stack(held) > 0
    last = key.shape[1] - 1
    if len(np.unique(np.packbits(key, axis=0), axis=1).T) != last + 1:
        raise VoidError(f"{where} compares digits that two positions share")
    (same,) = np.nonzero((key == query[:, -1:]).all(axis=0))
    if not len(same) or same[0] == last:
        raise VoidError(f"{where} compares digits of something that is no position before")
    distance = last - int(same[0])
    before = np.maximum(np.arange(1, last + 1) - distance, 0)
    if not np.array_equal(query[:, 1:], key[:, before]):
        raise VoidError(f"{where} compares digits of something that is not {distance} before")
    return distance


def distance_of_turns(word: Vector, bos: Vector, slack: float, where: str) -> tuple[int, float]:
    """D and C of Theorem 39. `word` is T at the distances 0, 1, …, `bos` is U at the positions 0,
    1, …; `slack` is what floating point may have lost of either."""
    positions = len(bos) - 1
    near = np.maximum.accumulate(word)[:positions]  # the largest T(d), d < i, for i = 1, 2, …
    (seen,) = np.nonzero(near > bos[1:])
    if not len(seen):  # `<bos>` wins everywhere: every distance beyond the last is this one
        distance = positions
    else:
        distance = int(seen[0])  # position i = seen + 1 sees distances to seen
    gaps = [float((bos[1 : distance + 1] - near[:distance]).min(initial=np.inf))]
    if distance < positions:
        own = float(word[distance])
        others = np.delete(word[:positions], distance)
        gaps += [own - float(others.max(initial=-np.inf)), own - float(bos[distance + 1 :].max())]
    gap = min(gaps) - 2 * slack
    if distance < 1 or gap <= 0:
        raise VoidError(f"{where} has scores that do not single out one distance, or <bos>")
    return distance, gap
