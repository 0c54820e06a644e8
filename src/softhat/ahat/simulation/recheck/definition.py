"""The AHAT of a folder, evaluated with Fractions straight from the definition."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from softhat.numbers.predicates import column
from softhat.numbers.stored import predicate_from

Codes = tuple[int, ...]


class ExactDefinition:
    """The exact evaluator, from `ahat.json` alone."""

    def __init__(self, a: dict[str, Any]) -> None:
        self.bos = bool(a.get("bos", False))
        self.features = a["positions"]
        self.alphabet = a["alphabet"]
        self.embedding = [[Fraction(x) for x in a["embedding"][s]] for s in self.alphabet]
        self.eos = bool(a.get("eos", False))
        for sink in ["<bos>"] * self.bos + ["<eos>"] * self.eos:
            self.embedding.append([Fraction(x) for x in a["embedding"][sink]])
        self.places = _fractions(a["position_embedding"])
        self.layers: list[tuple[list[tuple[Any, ...]], Any]] = [
            (
                [
                    (
                        h["mask"],
                        h.get("ties", "average"),
                        *(_fractions(h[p]) for p in ("query", "key", "value", "output")),
                    )
                    for h in layer["heads"]
                ],
                layer.get("feed_forward"),
            )
            for layer in a["layers"]
        ]
        self.weights = [Fraction(x) for x in a["output"]["weights"]]
        self.bias = Fraction(a["output"]["bias"])

    def embed(self, word: Codes) -> list[list[Fraction]]:
        """The residual before the first layer, sinks included."""
        result = []
        for symbol, seen in self.inputs(word):
            result.append(
                [
                    e + sum((w * s for w, s in zip(row, seen, strict=True) if w), Fraction(0))
                    for e, row in zip(self.embedding[symbol], self.places, strict=True)
                ]
            )
        return result

    def inputs(self, word: Codes) -> list[tuple[int, list[Fraction]]]:
        """The row of the embedding and the position features at each position."""
        n = len(word)
        rows = [] if not self.bos else [(len(self.alphabet), 0)]
        rows += [(s, i + 1) for i, s in enumerate(word)]
        rows += [(len(self.embedding) - 1, n + 1)] * self.eos
        return [(s, [_feature(f, i, n, self.bos) for f in self.features]) for s, i in rows]

    def values(self, word: Codes) -> tuple[list[Fraction], dict[tuple[int, int], list[set[int]]]]:
        """Values of the output and argmax sets of every head."""
        x = self.embed(word)
        sets: dict[tuple[int, int], list[set[int]]] = {}
        for l, (heads, ff) in enumerate(self.layers):
            added = [list(row) for row in x]
            for h, (mask, ties, wq, wk, wv, wo) in enumerate(heads):
                sets[l, h] = []
                keys = [_apply(wk, row) for row in x]
                values = [_apply(wv, row) for row in x]
                for i, row in enumerate(x):
                    q = _apply(wq, row)
                    scores = {
                        j: sum((a * b for a, b in zip(q, keys[j], strict=True)), Fraction(0))
                        for j in range(len(x))
                        if sees(mask, i, j)
                    }
                    sets[l, h].append({j for j, s in scores.items() if s == max(scores.values())})
                    taken = _chosen(sets[l, h][-1], ties)
                    if taken:
                        mean = [
                            sum((values[j][c] for j in taken), Fraction(0)) / len(taken)
                            for c in range(len(wv))
                        ]
                        for c, extra in enumerate(_apply(wo, mean)):
                            added[i][c] += extra
            x = added
            if ff is not None:
                x = [_forward(ff, row) for row in x]
        values_out = [
            sum((w * c for w, c in zip(self.weights, row, strict=True)), self.bias) for row in x
        ]
        return values_out[int(self.bos) :][: len(word)], sets


def _chosen(best: set[int], ties: str) -> set[int]:
    """The keys attended to: all maximal ones, or the leftmost or rightmost of them."""
    if not best or ties == "average":
        return best
    return {{"leftmost": min, "rightmost": max}[ties](best)}


def sees(mask: str, i: int, j: int) -> bool:
    """May position i attend to j?"""
    return {"none": True, "<=": j <= i, "<": j < i, ">=": j >= i, ">": j > i}[mask]


def _feature(feature: Any, i: int, n: int, bos: bool) -> Fraction:
    if isinstance(feature, dict):
        own = 0 < i <= n
        if "mod" in feature:
            m, r = feature["mod"]
            return Fraction(int(i % m == r and (own or feature.get("sinks", True))))
        if "digit" in feature:
            bit, position, length, constant = feature["digit"]
            number = max(position * i + length * n + constant, 0)
            return Fraction(number >> bit & 1 if own else 0)
        if "predicate" in feature:
            predicate = predicate_from(feature, "positions")
            return Fraction(int(column(predicate, np.array([i]), n)[0]))
        return Fraction(0) if i > n else Fraction(feature["table"][i if bos else i - 1])
    if feature.startswith("j/n^"):
        return Fraction(i, n ** int(feature.removeprefix("j/n^")))
    if i > n and feature not in ("1", "n", "(-1)^i"):
        return Fraction(0)  # at <eos>
    if feature.startswith("i/n^"):
        return Fraction(i, n ** int(feature.removeprefix("i/n^")))
    table = {
        "1": Fraction(1),
        "i": Fraction(i),
        "n": Fraction(n),
        "i/n": Fraction(i, n),
        "1/i": Fraction(1, i) if i else Fraction(0),
        "(-1)^i": Fraction((-1) ** i),
        "i^2": Fraction(i**2),
        "r": Fraction(n + 1 - i if i else 0),
        "ordinary": Fraction(int(i > 0)),
        "first": Fraction(int(i == 1)),
        "last": Fraction(int(i == n)),
    }
    return table[feature]


def _fractions(matrix: list[list[Any]]) -> list[list[Fraction]]:
    return [[Fraction(x) for x in row] for row in matrix]


def _apply(matrix: list[list[Fraction]], vector: list[Fraction]) -> list[Fraction]:
    return [
        sum((w * c for w, c in zip(row, vector, strict=True) if w), Fraction(0)) for row in matrix
    ]


def _forward(ff: dict[str, Any], row: list[Fraction]) -> list[Fraction]:
    hidden = [
        max(Fraction(0), h + Fraction(b))
        for h, b in zip(_apply(_fractions(ff["in"]), row), ff["in_bias"], strict=True)
    ]
    out = _apply(_fractions(ff["out"]), hidden)
    return [c + o + Fraction(b) for c, o, b in zip(row, out, ff["out_bias"], strict=True)]
