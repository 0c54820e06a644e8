"""Word by word: hard attention exactly, straight from its definition.

It serves to hold claims against short words, and to find their exact gaps. Vectors are integers
over one denominator.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from softhat.numbers import positions
from softhat.proof.simulations.source import HeadId, Matrix, SourceHead, SourceModel, Vector

Row = tuple[int | None, ...]  # scores; None: masked


@dataclass(frozen=True, slots=True)
class Vectors:
    """One vector a position: these integers over the denominator."""

    rows: list[list[int]]
    den: int

    def fractions(self) -> list[tuple[Fraction, ...]]:
        return [tuple(Fraction(x, self.den) for x in row) for row in self.rows]


@dataclass(frozen=True, slots=True)
class WordRun:
    """One word: the residual stream before each layer and at the end; each head's rows of scores,
    over their denominator; the values at the positions of the word."""

    streams: tuple[Vectors, ...]
    scores: dict[HeadId, tuple[list[Row], int]]
    values: tuple[Fraction, ...]


def all_words(source: SourceModel, n: int) -> Iterator[tuple[int, ...]]:
    """Every word of length n, as symbol numbers."""
    return itertools.product(range(len(source.alphabet)), repeat=n)


def run(source: SourceModel, word: tuple[int, ...]) -> WordRun:
    """Hard attention on one word."""
    x = _embedded(source, word)
    streams, scores = [x], dict[HeadId, tuple[list[Row], int]]()
    for l, layer in enumerate(source.layers):
        before = x
        for h, head in enumerate(layer.heads):
            rows, den, read = _attend(head, before)
            scores[l, h] = rows, den
            x = _sum(x, _apply(head.output, read))
        x = _reduced(x)
        if layer.forward is not None:
            ff = layer.forward
            sums = _sum(_apply(ff.into, x), _repeated(ff.into_bias, len(x.rows)))
            hidden = Vectors([[max(z, 0) for z in row] for row in sums.rows], sums.den)
            x = _sum(x, _sum(_apply(ff.out, hidden), _repeated(ff.out_bias, len(x.rows))))
            x = _reduced(x)
        streams.append(x)
    first = int(source.bos is not None)
    own = Vectors(x.rows[first : first + len(word)], x.den)
    values = _apply((source.weights,), own).fractions()
    return WordRun(tuple(streams), scores, tuple(v[0] + source.bias for v in values))


def gap_of(row: Row) -> int | None:
    """The maximum minus the next lower score; None if there is none."""
    seen = sorted({s for s in row if s is not None}, reverse=True)
    return seen[0] - seen[1] if len(seen) > 1 else None


def winners(row: Row) -> list[int]:
    """The maximal keys."""
    top = max((s for s in row if s is not None), default=None)
    return [j for j, s in enumerate(row) if s is not None and s == top]


def _embedded(source: SourceModel, word: tuple[int, ...]) -> Vectors:
    places = _places(source, len(word))
    rows = [source.tokens[s] for s in word]
    rows = [source.bos, *rows] if source.bos is not None else rows
    rows = [*rows, source.eos] if source.eos is not None else rows
    return _sum(_integers(tuple(rows)), places)


@lru_cache(maxsize=64)
def _places(source: SourceModel, n: int) -> Vectors:
    bos, eos = source.bos is not None, source.eos is not None
    features = positions.exact(source.features, n, bos=bos, eos=eos)
    return _apply(source.places, _integers(tuple(features)))


def _attend(head: SourceHead, x: Vectors) -> tuple[list[Row], int, Vectors]:
    """Rows of scores, their denominator, and what the head finds."""
    queries, keys, values = (_apply(m, x) for m in (head.query, head.key, head.value))
    factor = math.lcm(*range(1, len(x.rows) + 1))
    rows: list[Row] = []
    read = []
    for i, q in enumerate(queries.rows):
        row = tuple(
            sum(map(int.__mul__, q, k)) if _sees(head.mask, i, j) else None
            for j, k in enumerate(keys.rows)
        )
        best = winners(row)
        if head.ties != "average" and best:
            best = [best[0] if head.ties == "leftmost" else best[-1]]
        share = factor // len(best) if best else 0
        width = range(len(head.value))
        read.append([share * sum(values.rows[j][k] for j in best) for k in width])
        rows.append(row)
    return rows, queries.den * keys.den, Vectors(read, values.den * factor)


def _sees(mask: str, i: int, j: int) -> bool:
    return {"none": True, "<=": j <= i, "<": j < i, ">=": j >= i, ">": j > i}[mask]


@lru_cache(maxsize=4096)
def _sparse(matrix: Matrix) -> tuple[list[list[tuple[int, int]]], int]:
    """Each row's columns and integer weights, over one denominator."""
    den = math.lcm(1, *(w.denominator for row in matrix for w in row))
    rows = [[(c, int(w * den)) for c, w in enumerate(row) if w] for row in matrix]
    return rows, den


@lru_cache(maxsize=4096)
def _integers(rows: tuple[Vector, ...]) -> Vectors:
    den = math.lcm(1, *(x.denominator for row in rows for x in row))
    return Vectors([[int(x * den) for x in row] for row in rows], den)


def _repeated(row: Vector, times: int) -> Vectors:
    one = _integers((row,))
    return Vectors(one.rows * times, one.den)


def _apply(matrix: Matrix, x: Vectors) -> Vectors:
    rows, den = _sparse(matrix)
    return Vectors([[sum(w * v[c] for c, w in row) for row in rows] for v in x.rows], x.den * den)


def _sum(x: Vectors, y: Vectors) -> Vectors:
    den = math.lcm(x.den, y.den)
    a, b = den // x.den, den // y.den
    pairs = zip(x.rows, y.rows, strict=True)
    return Vectors([[a * p + b * q for p, q in zip(v, w, strict=True)] for v, w in pairs], den)


def _reduced(x: Vectors) -> Vectors:
    common = math.gcd(x.den, *(z for row in x.rows for z in row))
    if common == 1:
        return x
    return Vectors([[z // common for z in row] for row in x.rows], x.den // common)
