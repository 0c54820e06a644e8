"""The heads of a stock Llama as the proof sees them, as data."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.proof.stock.counts import MeanCount
from softhat.proof.stock.variables import Cell, Form, split

Name = Literal["Latest", "Recall", "Previous", "Shift", "Average", "Sign", "Digit"]
Role = Literal["distance", "content", "bos", "word"]
"""What keys have there: one constant everywhere, something of their own, or a constant only at
`<bos>` or only on the word's own positions."""
Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pair:
    """A rotary pair that a head uses: what for, and the query there, a constant (0 for a Sign)."""

    pair: int
    role: Role
    query: complex
    single: bool
    """The key's second coordinate is 0."""


@dataclass(frozen=True, slots=True, eq=False)
class LlamaHead:
    """A query head of a block. `gap`: of Latest, in logits, what a step back costs at least, of
    Previous and Shift what every other key loses; `clear`: how far a ruled-out key lies below all
    others; `reach`: no key that is not ruled out has a larger |score|; `decision`: a Sign's least
    |score|; `scores`: a Digit's score of `<bos>` at each position, or the |score| of a Sign that
    counts positions alone."""

    block: int
    head: int
    kind: Name
    pairs: tuple[Pair, ...] = ()
    gap: float = 0.0
    clear: float = inf
    reach: float = 0.0
    decision: float = 0.0
    counts: tuple[MeanCount, ...] = ()
    scores: Vector | None = None
    compares: tuple[int, ...] = ()
    """Of a Recall: the rotary pairs that compare digits, or rule out keys, or hold for `<bos>`."""
    zeros: tuple[tuple[int, int, float], ...] = ()
    """Of a Recall: (pair, coordinate, value) where a key is exactly 0 on the word if the
    coordinate has this value exactly; the coordinate is -1 where it is so anyway."""


@dataclass(frozen=True, slots=True)
class HeadForms:
    """A head's queries and keys by rotary pair and side, and the values that it writes."""

    block: int
    head: int
    query: list[tuple[Form, Form]]
    key: list[tuple[Form, Form]]
    values: list[Form]
    targets: list[float]
    """The weights with which the values are written."""
    frequencies: Vector
    context: int

    @property
    def where(self) -> str:
        return f"block {self.block}, head {self.head}"

    @property
    def root(self) -> float:
        return sqrt(2 * len(self.frequencies))


def constants_of(form: Form, cells: list[Cell]) -> tuple[float, float] | None:
    """A form's value at ordinary positions and at `<bos>`, if it reads constants only."""
    found = split(form, cells)
    if found.bits or found.others:
        return None
    return float(found.ordinary), float(found.bos)


def check_doubled(h: HeadForms) -> None:
    """A Boolean output is -1 and twice what the head returns."""
    if any(weight != 2 for weight in h.targets):
        raise VoidError(f"{h.where} does not write twice what it returns")
