"""Storage formats of a GPT-2, and what the proof takes as their arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from softhat.numbers.formats import FORMATS

U = 2.0 ** -FORMATS["float32"].digits
"""Unit roundoff of float32, in which every kernel adds up."""
BLOCK = 512
"""Fused attention adds up the keys in blocks of at most this many."""
SMOOTH = 6.0
"""gelu_new differs from relu by less than 2^-23·|x| from |x| = 6 on."""
LEAST_GAP = 20.0
"""e^-20 is below float32's roundoff: weights of losers are lost in the winner's."""


@dataclass(frozen=True, slots=True)
class Storage:
    """A storage format: unit roundoff, the error near 0, the largest number."""

    name: str
    unit: float
    floor: float
    largest: float
    dtype: Any

    @property
    def wide(self) -> bool:
        return self.unit <= U


def _storage(name: str, like: str) -> Storage:
    f = FORMATS[like]
    return Storage(name, 2.0**-f.digits, f.smallest / 2, f.largest, f.storage)


STORAGES = (
    _storage("float32", "float32"),
    _storage("bfloat16", "bfloat16"),
    _storage("float16", "float16"),
    # Every step errs less in float64 than in float32, and the weights are the same: one proof.
    _storage("float64", "float32"),
)


class NotProvedError(Exception):
    """A bound does not hold; the message says which."""


def need(holds: bool, reason: str) -> None:
    """A step of the proof."""
    if not holds:
        raise NotProvedError(reason)
