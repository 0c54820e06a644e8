"""The formulas that every compiled target is tried on, and the words they are tried with.

Expected truth values come from `softhat.logic`, which knows nothing of transformers and is itself
tested against the definitions.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from softhat.logic.random import random_formula
from softhat.logic.semantics.batch import all_words, evaluate, from_codes, unpack
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse

MIXED = [
    # past with future, counts of counts, total counts, mod under S, constants, trivial formulas
    "Y X a", "X Y a", "#*(Y a) = 1", "#(#(a) > 1) >= 2", "2*#(a) - #*(b) + i >= n",
    "F(2*#(a) = #*(a))", "mod(3, 1) S a", "a S mod(2, 0)", "true", "false", "a | !a", "a & !a",
    "O H a", "H O a", "#(true) = i", "#*(true) = n", "#>(true) = n - i + 1", "i = 3", "n = 4",
    "n - i >= 2", "3*i - 2*n >= 1", "#(a) >= #>(a)", "#(a) - #>(b) + #*(a) >= 2",
    "#>(a) - #>(b) >= 1", "#(a) = #(b)", "2*#(a) - 3*#(b) = 1", "#(a) - #(b) >= -2",
    "#(a) > 100000", "#(a) < 10000000000000", "first", "last", "first | last",
    "(a S b) xor (b S a)", "(a U b) <-> (Y a)", "(Y a & b) | (Y b & a) | (O b & Y Y a)",
    "(Y a | O b) & (Z b | H a) & (X a | F b)", "mod(5, 2) -> Y Y Y a", "a W b", "a M b", "a R b",
    "a T b", "Z Z a", "N N b", "G(a -> F b)", "H(a -> Y b)", "#(Y a) - #(X b) >= 0",
    "#*(a S b) >= 2*#(first)", "n < 6 & i >= 2",
]  # fmt: skip


def nested(depth: int, kinds: str) -> Formula:
    """Temporal depth 8 and more, every layer reading the one before."""
    formula: Formula = nodes.symbol("a")
    for k in range(depth):
        other = nodes.symbol("ab"[k % 2])
        match kinds[k % len(kinds)]:
            case "S":
                formula = nodes.Since(other, ~formula)
            case "U":
                formula = nodes.Until(formula, other ^ formula)
            case "Y":
                formula = nodes.Yesterday(formula) | other
            case "X":
                formula = nodes.Tomorrow(formula) & ~other
            case "T":
                formula = nodes.Triggered(other, formula)
            case "#":
                formula = nodes.count(formula) - nodes.count(other) >= 1
    return formula


def formulas() -> list[Formula]:
    """300 and more over {a, b}: listed, deep and random ones."""
    listed = [parse(text) for text in MIXED]
    deep = [nested(8, kinds) for kinds in ("S", "SY", "SU", "YX", "TSU", "Y#", "SUYXT#")]
    rng = np.random.default_rng(2026)
    random = [
        random_formula(rng, size, ["a", "b"], operators)
        for operators, count in (("all", 150), ("star-free", 50), ("counting", 30), ("decoder", 30))
        for size in rng.integers(3, 28, count).tolist()
    ]
    return listed + deep + random


def all_codes(letters: int, length: int) -> NDArray[np.int64]:
    """Every word of this length, in lexicographic order, as symbol codes."""
    number = np.arange(letters**length)[:, None]
    return number // letters ** np.arange(length - 1, -1, -1) % letters


def expected(formula: Formula, codes: NDArray[np.int64], alphabet: str) -> NDArray[np.bool_]:
    batch = from_codes(codes, alphabet)
    return unpack(evaluate(formula, batch), len(codes))


def long_words(length: int, letters: int, seed: int) -> NDArray[np.int64]:
    """Random words and words made to be hard: long gaps, hugging counts, alternations."""
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, letters, length) for _ in range(2)]
    rows += [(rng.random(length) < p).astype(np.int64) for p in (0.003, 0.997)]
    gap = np.ones(length, np.int64)
    gap[0] = 0
    rows += [gap, gap[::-1], 1 - gap, np.arange(length) % 2, np.arange(length) // 2 % 2]
    rows += [np.arange(length) * 2 // length, np.arange(length) % 5 // 3]
    walk = np.zeros(length, np.int64)  # the counts of the first two letters stay within one
    walk[1::2] = 1
    for start in range(0, length - 2, 6):
        walk[start : start + 2] = rng.permutation(2)
    return np.stack([*rows, walk]) % letters


def conjunction(parts: list[Formula]) -> Formula:
    return reduce(nodes.And, parts)


__all__ = ["all_codes", "all_words", "conjunction", "expected", "formulas", "long_words", "nested"]
