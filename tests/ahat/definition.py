"""Average-hard and softmax attention straight from their definitions, word by word.

Nothing here comes from the code under test but the data classes: Fractions and nested loops for
the exact model, mpmath-free extended precision for the soft one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from softhat.ahat.model import AHAT, Matrix
from softhat.numbers.positions import Mod, Named, Table

Rows = dict[tuple[int, int], list[dict[int, Fraction]]]


@dataclass
class Defined:
    values: list[Fraction]
    rows: Rows  # per head and query: the scores of the keys it may see


def embed(model: AHAT, word: Sequence[str]) -> list[list[Fraction]]:
    n = len(word)
    result = []
    for i in range(0 if model.bos else 1, n + 1 + int(model.eos)):
        token = (
            model.bos_embedding
            if i == 0
            else model.eos_embedding
            if i > n
            else model.embedding[model.alphabet.index(word[i - 1])]
        )
        assert token is not None
        vector = list(token)
        for column, feature in enumerate(model.positions):
            own = 1 <= i <= n
            match feature:
                case Named("1"):
                    seen = Fraction(1)
                case Named("n"):
                    seen = Fraction(n)
                case Named("(-1)^i"):
                    seen = Fraction((-1) ** i)
                case Mod(m, r, sinks):
                    seen = Fraction(1) if (i - r) % m == 0 and (own or sinks) else Fraction(0)
                case Table(entries):
                    seen = Fraction(0) if i > n else entries[i - (0 if model.bos else 1)]
                case Named(name) if name.startswith("j/n^"):
                    seen = Fraction(i, n ** int(name[4:]))
                case _ if not own:  # at the sinks, positions are not told apart
                    seen = Fraction(0)
                case Named("i"):
                    seen = Fraction(i)
                case Named("i/n"):
                    seen = Fraction(i) / n
                case Named("1/i"):
                    seen = 1 / Fraction(i)
                case Named("i^2"):
                    seen = Fraction(i) ** 2
                case Named("r"):
                    seen = Fraction(n - i + 1)
                case Named("ordinary"):
                    seen = Fraction(1)
                case Named("first"):
                    seen = Fraction(1) if i == 1 else Fraction(0)
                case Named("last"):
                    seen = Fraction(1) if i == n else Fraction(0)
                case Named(name) if name.startswith("i/n^"):
                    seen = Fraction(i, n ** int(name[4:]))
                case _:
                    raise AssertionError(feature)
            for c in range(len(vector)):
                vector[c] += model.position_embedding[c][column] * seen
        result.append(vector)
    return result


def evaluate(model: AHAT, word: Sequence[str]) -> Defined:
    x = embed(model, word)
    rows: Rows = {}
    for l, layer in enumerate(model.layers):
        after = [list(v) for v in x]
        for h, head in enumerate(layer.heads):
            rows[l, h] = []
            for i in range(len(x)):
                query = times(head.query, x[i])
                scores = {}
                for j in range(len(x)):
                    if sees(head.mask, i, j):
                        key = times(head.key, x[j])
                        scores[j] = sum(
                            (a * b for a, b in zip(query, key, strict=True)), Fraction(0)
                        )
                rows[l, h].append(scores)
                winners = [j for j in scores if scores[j] == max(scores.values())]
                if head.ties == "leftmost":
                    winners = winners[:1]
                if head.ties == "rightmost":
                    winners = winners[-1:]
                if winners:
                    total = [Fraction(0)] * len(head.value)
                    for j in winners:
                        total = plus(total, times(head.value, x[j]))
                    mean = [t / len(winners) for t in total]
                    after[i] = [
                        a + b for a, b in zip(after[i], times(head.output, mean), strict=True)
                    ]
        x = after
        ff = layer.feed_forward
        if ff is not None:
            for i in range(len(x)):
                hidden = [
                    max(Fraction(0), a + b)
                    for a, b in zip(times(ff.in_weights, x[i]), ff.in_bias, strict=True)
                ]
                out = times(ff.out_weights, hidden)
                x[i] = [a + b + c for a, b, c in zip(x[i], out, ff.out_bias, strict=True)]
    values = [
        sum((w * c for w, c in zip(model.output_weights, v, strict=True)), model.output_bias)
        for v in x
    ]
    return Defined(values[1 if model.bos else 0 :][: len(word)], rows)


def sees(mask: str, i: int, j: int) -> bool:
    if mask == "none":
        return True
    if mask == "<=":
        return j <= i
    if mask == "<":
        return j < i
    if mask == ">=":
        return j >= i
    assert mask == ">"
    return j > i


def dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    assert len(a) == len(b)
    return sum((a[k] * b[k] for k in range(len(a))), Fraction(0))


def plus(a: Sequence[Fraction], b: Sequence[Fraction]) -> list[Fraction]:
    assert len(a) == len(b)
    return [a[k] + b[k] for k in range(len(a))]


def times(matrix: Matrix, vector: Sequence[Fraction]) -> list[Fraction]:
    return [dot(row, vector) for row in matrix]


def softmax_values(
    model: AHAT, betas: Mapping[tuple[int, int], float], word: Sequence[str]
) -> list[np.longdouble]:
    """The softmax model in extended precision, one row at a time."""
    x = [np.array([wide(c) for c in v]) for v in embed(model, word)]
    for l, layer in enumerate(model.layers):
        after = [v.copy() for v in x]
        for h, head in enumerate(layer.heads):
            wq, wk, wv, wo = (
                array(m, len(x[0])) for m in (head.query, head.key, head.value, head.output)
            )
            for i in range(len(x)):
                keys = [j for j in range(len(x)) if sees(head.mask, i, j)]
                if not keys:
                    continue
                scores = np.array(
                    [wide(Fraction(betas[l, h])) * np.dot(wq @ x[i], wk @ x[j]) for j in keys]
                )
                weights = np.exp(scores - scores.max())
                mean = (
                    sum(w * (wv @ x[j]) for w, j in zip(weights, keys, strict=True)) / weights.sum()
                )
                after[i] = after[i] + (wo @ mean if len(head.value) else 0)
        x = after
        ff = layer.feed_forward
        if ff is not None:
            wi, wo = array(ff.in_weights, len(x[0])), array(ff.out_weights, len(ff.in_weights))
            bi, bo = (np.array([wide(b) for b in bias]) for bias in (ff.in_bias, ff.out_bias))
            x = [v + wo @ np.maximum(wi @ v + bi, 0) + bo for v in x]
    weights = np.array([wide(w) for w in model.output_weights])
    values = [np.dot(weights, v) + wide(model.output_bias) for v in x]
    return values[1 if model.bos else 0 :][: len(word)]


def wide(x: Fraction) -> np.longdouble:
    return np.longdouble(x.numerator) / np.longdouble(x.denominator)


def array(matrix: Matrix, columns: int) -> np.ndarray:
    if not matrix:
        return np.zeros((0, columns), dtype=np.longdouble)
    return np.array([[wide(x) for x in row] for row in matrix], dtype=np.longdouble).reshape(
        len(matrix), -1
    )
