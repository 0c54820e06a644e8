"""All words, shortest first: the last resort where nothing else decides."""

from __future__ import annotations

from typing import Literal

import numpy as np

from softhat.logic.decide.letters import Letters
from softhat.logic.semantics.batch import Lanes, all_words, evaluate, unpack
from softhat.logic.syntax.nodes import Formula

_CHUNK = 1 << 20  # words evaluated together: memory stays bounded however many there are

Where = Literal["first", "last", "anywhere"]


def first_word(formula: Formula, letters: Letters, where: Where, length: int) -> list[int] | None:
    """The first word of this length, in the order of the letters, where the formula holds."""
    total = letters.count**length
    for start in range(0, total, _CHUNK):
        batch = all_words(letters.all(), length, start, start + _CHUNK)
        accepted = unpack(_held(evaluate(formula, batch), where)[None], batch.count)[:, 0]
        if accepted.any():
            return _digits(start + int(accepted.argmax()), letters.count, length)
    return None


def _held(signal: Lanes, where: Where) -> Lanes:
    if where == "anywhere":
        return np.bitwise_or.reduce(signal, axis=0)
    return signal[0 if where == "first" else -1]


def _digits(number: int, base: int, length: int) -> list[int]:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, base)
        digits.append(digit)
    return digits[::-1]
