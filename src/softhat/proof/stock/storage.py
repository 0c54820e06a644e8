"""Storage formats of a GPT-2, and what the proof takes as their arithmetic."""

from __future__ import annotations

from dataclasses import replace

from softhat.io.errors import VoidError
from softhat.numbers.formats import FORMATS

U = 2.0 ** -FORMATS["float32"].digits
"""Unit roundoff of float32, in which every kernel adds up."""
SMOOTH = 6.0
"""gelu_new differs from relu by less than 2^-23·|x| from |x| = 6 on."""
LEAST_GAP = 20.0
"""e^-20 is below float32's roundoff: weights of losers are lost in the winner's."""


STORAGES = (
    FORMATS["float32"],
    FORMATS["bfloat16"],
    FORMATS["float16"],
    # Every step errs less in float64 than in float32, and the weights are the same: one proof.
    replace(FORMATS["float32"], name="float64"),
)


def need(holds: bool, reason: str) -> None:
    """A step of the proof."""
    if not holds:
        raise VoidError(reason)
