"""Scores of heads by definition: rows evaluated at every pair of positions of one word.

Position 0 is `<bos>`, n+1 is `<eos>`. A coordinate is evaluated as its name says, a register by the
exact meaning of the program, so nothing of the runtime or of the proof is used.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from softhat.numbers.positions import Mod, Named
from softhat.program.evaluate import evaluate
from softhat.program.registers import Register
from softhat.program.signals import Program
from softhat.transformer.lowering.rows import HeadScores, Key, PositionUnits, Row
from softhat.transformer.lowering.wiring import Wiring

Array = NDArray[np.float64]
words = st.lists(st.integers(0, 1), min_size=1, max_size=12).map(np.array)
"""Words over two letters, as codes."""
sharpnesses = st.sampled_from([0.5, 1.0, 2.0, 4.0])
"""The theorems hold for every C, and are tight for small ones."""


def scale(n: int) -> int:
    """P: the least power of two >= n+2."""
    return 1 << (n + 1).bit_length()


def logits(
    made: HeadScores, program: Program, word: NDArray[np.int64], scaled: bool, sharpness: float
) -> Array:
    """What the softmax is of, (n+2, n+2); -inf where the mask hides a key."""
    n = len(word)
    held = evaluate(program, word)

    def column(key: Key) -> Array:
        i = np.arange(n + 2)
        ordinary = ((i >= 1) & (i <= n)).astype(float)
        match key:
            case Register(signal, False):
                return np.array([0.0, *held[signal].astype(float), 0.0])
            case Mod(modulus, remainder, False):
                return ordinary * (i % modulus == remainder)
            case Named(name, divided):
                plain = {
                    "1": np.ones(n + 2),
                    "ordinary": ordinary,
                    "i": ordinary * i,
                    "r": ordinary * (n + 1 - i),
                    "(-1)^i": (-1.0) ** i,
                }[name]
                return plain / scale(n) if divided else plain
        raise AssertionError(key)

    def side(row: Row) -> Array:
        return sum((w * column(at) for at, w in row.items()), np.zeros(n + 2))

    total = np.zeros((n + 2, n + 2))
    for query, key in made.pairs:
        total += side(query)[:, None] * side(key)[None, :]
    if made.beta is not None:
        total *= made.beta
    elif scaled:
        total *= sharpness * scale(n)
    i, j = np.arange(n + 2)[:, None], np.arange(n + 2)[None, :]
    seen = {"none": j == j, "<=": j <= i, "<": j < i, ">=": j >= i, ">": j > i}[made.mask]
    return np.where(seen, total, -np.inf)


def softmax(row: Array) -> Array:
    weights = np.exp(row - row.max())
    found: Array = weights / weights.sum()
    return found


def wiring(program: Program, scaled: bool) -> Wiring:
    return Wiring(program, PositionUnits(scaled))
