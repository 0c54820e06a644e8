"""Which frequency of rotary attention carries what.

Pair p of a head turns with the frequency ω_p: the score of key j for query i gets
Re(q·conj(k)·e^(iω_p(i - j))) from it, so with constant q and k it is a function of the distance.

*rope*: sixteen coordinates, no scaling. ω_2 = w, a power of two with w·N <= 1.72: over half a turn
a sine falls by at least a fixed amount a step. ω_0 = 1 tells neighbours apart, and ω_6 = w³ is so
slow that what stands there is read as it is.

*bits*: sixty-four coordinates, ω_p = π/2^p. Pair b turns by half a circle every 2^b positions, so
the sign of a sine is digit b of the distance to `<bos>`; slow pairs at the end carry content. Where
there are recalls, two hundred and fifty-six, ω_p = π/2^(p/2): room for two slow pairs a digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, cos, inf, log2, pi, sin
from typing import Literal

import numpy as np

from softhat.io.errors import SofthatError

Positions = Literal["rope", "bits"]
SHARPNESS = 32.0
"""C: neighbours' scores differ by C. A leak of e^-32 is far below the roundoff of float32."""
LONG, STEEP = 1 << 12, 160.0
"""C of *rope* beyond such a context: rounding of a sine takes a share of it that grows with N. The
same of a disguised checkpoint, where all rounding does: what is left must still tell keys apart."""
DIGIT_SHARPNESS = 48.0
"""C of a Previous that compares digits, each of which bfloat16 rounds."""
DISTANCE_SHARPNESS = 64.0
"""C of a head that looks a fixed distance back. Its codes have a digit a pair, each of which
bfloat16 rounds, and `<bos>` lies between the position that is looked for and all others."""
FARTHEST = 1 << 14
"""Of *rope*: in longer contexts distances are spelled out, for its fast pairs' angles have too few
digits."""


@dataclass(frozen=True, slots=True)
class Rotary:
    """The rotary parameters of a context, and the pairs for each purpose."""

    positions: Positions
    context: int
    head_dim: int
    theta: float
    factor: float
    """Frequencies are divided by this (`linear` scaling); 1 for none."""
    content: tuple[int, int]
    """Pairs that turn so slowly that what stands there is read as it is."""
    dense: bool
    """No coordinate will be a variable's own."""
    recalls: bool = False
    """Its heads have room for the digits of a recall's codes."""

    @property
    def digits(self) -> int:
        """A position has this many binary digits."""
        return (self.context - 1).bit_length()

    def half_turn(self, b: int) -> int:
        """The pair of *bits* that turns by half a circle every 2^b positions."""
        return 2 * b if self.recalls else b

    def code_pair(self, at: int) -> int:
        """Where a recall compares digit `at` of its codes."""
        return self.digit_pair(0) - 1 - at

    def digit_pair(self, b: int) -> int:
        """Where *bits* has digit b of a key: the higher the digit, the slower the pair."""
        return self.content[1] - self.digits + b

    @property
    def slow(self) -> float:
        """w of *rope*."""
        return self.theta**-0.25

    @property
    def shifts(self) -> bool:
        """Is there a head for every distance?"""
        near = self.positions == "bits" or self.context <= FARTHEST
        return near and not self.dense

    @property
    def turns(self) -> tuple[tuple[int, float, float], ...]:
        """(pair, ω, size) of the pairs that tell distances apart: Σ size·(1 - cos ωm)
        is at least 2C for every m from 1 to the context.

        In *bits* m is 2^b times an odd number, and pair b alone loses 2C. In *rope* pair 0 tells
        neighbours apart, pair 1 what is a whole number of its turns away, up to half a turn of its
        own, and pair 2 the rest."""
        if self.positions == "bits":
            return tuple(
                (self.half_turn(b), pi / 2**b, DISTANCE_SHARPNESS) for b in range(self.digits)
            )
        away = np.arange(1, max(2, self.context))
        lost = np.zeros(len(away))
        turns = []
        for pair, end in ((0, 2), (1, pi / self.slow**0.5), (2, inf)):
            loss = 1 - np.cos(self.slow ** (pair / 2) * away)
            asked = away < end
            size = 1.05 * float(((2 * DISTANCE_SHARPNESS - lost) / loss)[asked].max(initial=0.0))
            lost += size * loss
            if size:
                turns.append((pair, self.slow ** (pair / 2), size))
        return tuple(turns)

    @property
    def sharpness(self) -> float:
        """C of Latest, and of Previous in *rope*."""
        steep = self.dense or (self.positions == "rope" and self.context > LONG)
        return STEEP if steep else SHARPNESS

    @property
    def steepness(self) -> float:
        """S of *rope*: -S·sin(w·d - w·N/2) falls by at least C a step."""
        w = self.slow
        return self.sharpness / (w * cos(w * self.context / 2)) * 1.001

    def recency(self, d: float) -> float:
        """The score of *rope* at distance d, but for a head's other rows."""
        return -self.steepness * sin(self.slow * (d - self.context / 2))

    @property
    def penalty(self) -> float:
        """What rules a key out: more than all scores can differ by."""
        if self.positions == "bits":
            return (1.05 if self.dense else 1.25) * 2.0**self.digits * self.sharpness
        return 1.05 * (self.recency(0) - self.recency(self.context)) + 2 * self.sharpness


MOST_CODES = 24
"""Digits of a recall: each needs two slow pairs."""
ARC = 1.72
"""w·N is at most this: then the sine's slope, cos(w·N/2), is at least 0.65."""
LEAST_CONTEXT = 64
"""Contexts are counted as at least this, so that w³·N is small."""
MOST_DIGITS = 13
"""Of *bits*: with more the lowest digit's pair, of those for content, turns too fast."""


def rotary(positions: Positions, context: int, dense: bool = False, codes: int = 0) -> Rotary:
    """`codes` is how many digits recalls compare, at most."""
    if positions == "rope":
        turns = ceil(log2(max(context, LEAST_CONTEXT) / ARC))
        return Rotary(positions, context, 16, 2.0 ** (4 * turns), 1.0, (7, 6), dense)
    most = 1 << MOST_DIGITS
    if context > most:
        raise SofthatError(
            f"positions='bits' has contexts of at most {most:,}, not {context:,}: use "
            "positions='rope'"
        )
    if codes > MOST_CODES:
        raise SofthatError(f"a recall by {codes} digits: a head has room for {MOST_CODES}")
    if codes and not dense:
        return Rotary(positions, context, 256, 2.0**64, 1 / pi, (127, 126), dense, recalls=True)
    return Rotary(positions, context, 64, 2.0**32, 1 / pi, (31, 30), dense)
