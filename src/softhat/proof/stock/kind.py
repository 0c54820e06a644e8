"""What every kind of head of a stock checkpoint has: its forms, its theorem, its fact about a row.

The score of key j for query i is Σ_p Re(q_p·conj(k_p)·e^(iω_p(i - j)))/√d over rows p. In a Llama a
row is a rotary pair; in a GPT-2 nothing turns, ω = 0, and second coordinates are 0. A kind is one
file: it tells its heads from these forms, and makes of what a setting (plain or disguised, turning
or not, a number format, a kernel) leaves of their gaps one `RowFact`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import VoidError
from softhat.numerics.formats import Format
from softhat.numerics.kernels import EAGER, SDPA, Kernel
from softhat.proof.softmax import RowFact
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.counts import MeanCount
from softhat.proof.stock.storage import U, lost, need
from softhat.proof.stock.variables import BitCell, Cell, Form, RawCell, literal, split

Vector = NDArray[np.float64]
Role = Literal["distance", "content", "bos", "word"]
"""What keys have in a row: one constant everywhere, something of their own, or a constant only at
`<bos>` or only on the word's own positions."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A row that a head uses: what for, and the query there, a constant (0 if it is none)."""

    pair: int
    role: Role
    query: complex
    single: bool
    """The key's second coordinate is 0."""


@dataclass(frozen=True, slots=True)
class HeadForms:
    """A head's queries and keys by row and side, and the values that it writes."""

    block: int
    head: int
    number: int
    """Among the heads of all blocks."""
    query: list[tuple[Form, Form]]
    key: list[tuple[Form, Form]]
    values: list[Form]
    targets: list[float]
    """The weights with which the values are written."""
    frequencies: Vector
    """ω of each row."""
    root: float
    """√d, which scores are divided by."""
    context: int
    raw: bool
    """Outputs are small, ±A from -A on; otherwise they are ±1 from -1 on."""

    @property
    def where(self) -> str:
        return f"block {self.block}, head {self.head}"

    @property
    def level(self) -> int:
        """Of what it computes, in decision diagrams."""
        return (1 << 50) + (self.number << 20)

    @property
    def used(self) -> list[int]:
        """The rows in which neither queries nor keys are 0."""
        rows = zip(self.query, self.key, strict=True)
        return [
            p
            for p, (query, key) in enumerate(rows)
            if any(map(is_read, query)) and any(map(is_read, key))
        ]

    def asked(self, cells: list[Cell]) -> Iterator[Cell]:
        """What its queries read."""
        return (cells[at] for p in self.used for form in self.query[p] for at in form.weights)

    def held(self, cells: list[Cell]) -> Iterator[Cell]:
        """What its keys read."""
        return (cells[at] for p in self.used for form in self.key[p] for at in form.weights)

    def pairs(self, cells: list[Cell]) -> list[Pair]:
        """The rows of a head whose queries are constants, the same at `<bos>`."""
        return [self._pair(p, cells) for p in self.used]

    def _pair(self, p: int, cells: list[Cell]) -> Pair:
        query = [constants_of(form, cells) for form in self.query[p]]
        if query[0] is None or query[1] is None:
            raise VoidError(f"{self.where} has queries that no kind of head has")
        (q1, start1), (q2, start2) = query[0], query[1]
        if (q1, q2) != (start1, start2):
            raise VoidError(f"{self.where} has queries that <bos> does not share")
        key = [constants_of(form, cells) for form in self.key[p]]
        role: Role = "content"
        if self.frequencies[p] and key[0] is not None and key[1] is not None:
            if key[0][0] == key[0][1] and key[1][0] == key[1][1]:
                role = "distance"
            elif key[0][0] == key[1][0] == 0:
                role = "bos"
            elif key[0][1] == key[1][1] == 0:
                role = "word"
        pair = Pair(p, role, complex(q1, q2), not is_read(self.key[p][1]))
        return self.read_as_it_is(pair) if role == "content" else pair

    def read_as_it_is(self, pair: Pair) -> Pair:
        """A row that carries content, where that does not turn."""
        if pair.role not in ("content", "word"):
            return pair
        if pair.query.imag != 0 or not pair.single:
            raise VoidError(f"{self.where} turns what its keys say of their positions")
        return replace(pair, role="content")

    def turning(self, pairs: Iterable[Pair], role: Role, cells: list[Cell]) -> Vector:
        """What rows of constants of a role add to the score at each distance."""
        total = np.zeros(self.context)
        for pair in pairs:
            if pair.role == role:
                angles = self.frequencies[pair.pair] * np.arange(self.context)
                key = self.constant_key(pair, cells)
                turned = pair.query * key.conjugate() * np.exp(1j * angles) / self.root
                total = total + turned.real
        return total

    def lost_turning(self, pairs: Sequence[Pair], cells: list[Cell]) -> float:
        """What float64 may have lost of `turning`: no score of a row is larger than |q||k|, however
        it turns, and what its angle is off is a share of the angle."""
        size = 0.0
        for pair in pairs:
            if pair.role != "content":
                angle = float(self.frequencies[pair.pair]) * self.context
                size += abs(pair.query) * abs(self.constant_key(pair, cells)) * (1 + angle)
        return lost(size / self.root, len(pairs))

    def constant_key(self, pair: Pair, cells: list[Cell]) -> complex:
        """The key of a row of constants, where it is not 0."""
        ends = [constants_of(form, cells) for form in self.key[pair.pair]]
        assert ends[0] is not None and ends[1] is not None
        side = 1 if pair.role == "bos" else 0
        return complex(ends[0][side], ends[1][side])

    def literals(self, cells: list[Cell], atoms: BoundedAtoms) -> list[int]:
        """The functions of values that are bits, 0 at `<bos>`."""
        return [literal(form, cells, atoms, f"{self.where}: a value") for form in self.values]

    def written(self, functions: Iterable[int]) -> list[Cell]:
        """What variables hold to which Boolean outputs were added."""
        cells: list[Cell] = []
        for function, weight in zip(functions, self.targets, strict=True):
            if not self.raw and weight != 2:
                raise VoidError(f"{self.where} does not write twice what it returns")
            if weight <= 0:
                raise VoidError(f"{self.where} writes with a weight that is not positive")
            raw = RawCell(function, weight / 2, self.number)
            cells.append(raw if self.raw else BitCell(function))
        return cells


def is_read(form: Form) -> bool:
    return bool(form.weights or form.constant)


def constants_of(form: Form, cells: list[Cell]) -> tuple[float, float] | None:
    """A form's value at ordinary positions and at `<bos>`, if it reads constants only."""
    parts = split(form, cells)
    if parts.bits or parts.others:
        return None
    return float(parts.ordinary), float(parts.bos)


@dataclass(frozen=True, slots=True)
class Gaps:
    """What errors of scores leave of a lookup: C, by which the next key of those that may win lies
    below the winner, and how far all others lie below those."""

    gap: float
    clear: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StockHead(ABC):
    """A head that was recognised."""

    kind: ClassVar[str]
    uniform: ClassVar[bool] = False
    """It gives all keys the same weight."""

    block: int
    head: int
    pairs: tuple[Pair, ...] = ()
    """The rows that it uses."""
    counts: tuple[MeanCount, ...] = ()
    """What it averages, if it does."""

    @abstractmethod
    def fact(self, scores: StockScores) -> RowFact:
        """Its theorem in floats."""

    def roundings(self, scores: StockScores, fact: RowFact) -> float:
        """Of the sum of weights and of that of weighted values, in relation to the largest."""
        one = scores.kernel.lookup_roundings(scores.keys, fact.no, U)
        return one if fact.winners == "one" else max(one, scores.shared_roundings(self))

    def kept(self, scores: StockScores) -> float:
        """The share of its size that a mean whose sign it reads must keep."""
        return 0.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Lookup(StockHead):
    """A head that attends to one key."""

    gap: float
    """C of its theorem, in logits."""
    clear: float
    """How far a key that is ruled out lies below all others."""
    sizes: Vector
    """|score| of the keys that are not ruled out, by position, or of all of them."""

    @property
    def reach(self) -> float:
        return float(self.sizes.max())

    def gaps(self, scores: StockScores) -> Gaps:
        """What errors of scores leave of its gaps."""
        return scores.gaps(self)

    @abstractmethod
    def leak(self, gaps: Gaps, keys: int) -> float:
        """The weight of all other keys, relative to the winner's."""

    def fact(self, scores: StockScores) -> RowFact:
        gaps = self.gaps(scores)
        need(gaps.gap >= LEAST_GAP, scores.too_far(self))
        leak = self.leak(gaps, scores.keys)
        return RowFact("one", leak, leak, scores.keys)


LEAST_GAP = 8.0
"""What must be left of a gap. e^-8 is about 2^-12: a head whose keys lie closer together looks
nothing up. What leaks is counted, whatever is left."""


def stepwise(gaps: Gaps, keys: int) -> float:
    """The leak where keys that may win lose C, 2C, … and all others `clear`."""
    return exp(-gaps.gap) / (1 - exp(-gaps.gap)) + keys * exp(min(700.0, -gaps.clear))


KEPT = (1 / 10, 1 / 2, 9 / 10)
"""Shares of its size that the mean of a count may be asked to keep, by heads that read its sign."""

UNLIKE = "keys of the word's own positions are not alike"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StockScores(ABC):
    """The scores of a head in a setting: what computes them, for how many keys."""

    constant_queries: ClassVar[bool] = False
    """What it says of gaps holds for queries that are constants only."""

    storage: Format
    fused: bool
    keys: int

    @property
    def kernel(self) -> Kernel:
        return SDPA if self.fused else EAGER

    @property
    def shares(self) -> tuple[float, ...]:
        """What means may be asked to keep, the least first."""
        return KEPT if self.storage.wide else KEPT[:1]

    @abstractmethod
    def gaps(self, head: Lookup) -> Gaps:
        """What errors of scores leave of the gaps of any head that looks something up."""

    @abstractmethod
    def left(self, head: StockHead, key: float, least: float, share: float) -> float:
        """What is left of the least |score| of a head of one row, whose queries are means that keep
        this share of their size, and whose keys are `key` on the word and 0 at `<bos>`."""

    def decision(self, head: StockHead, scores: Vector) -> float:
        """What is left of the least |score| of `<bos>`, where only that has one, by position."""
        raise VoidError(f"{head.kind} heads: nothing turns")

    def shared_roundings(self, head: StockHead) -> float:
        """Roundings of both sums where the word's own positions share the weight."""
        return 2 * self.kernel.roundings(self.keys)

    def too_far(self, head: StockHead) -> str:
        return f"{head.kind} heads: scores may be off by more than a step"


DIFFER = 2.2
"""What a loser's weight costs: two values differ by at most twice the largest, which is off by at
most 2^-4 of it, and exp may make a weight larger by a thousandth: 2·(1 + 1/16)·(1 + 1/1000) < 2.2.
"""


def output_error(head: StockHead, scores: StockScores, value: float) -> float:
    """How far the output of a head that returns 0 or 1 may be off, if its values are off by
    `value`. Small formats round it: less than a quarter of a unit off, 1 is stored as 1, and twice
    what stands for 0 is lost beside 1."""
    fact, storage = head.fact(scores), scores.storage
    error = value + DIFFER * fact.no + head.roundings(scores, fact) * U
    if storage.wide:
        return error
    need(
        scores.fused or fact.winners == "one",
        f"{head.kind} heads: eager attention stores n weights of 1/n, whose sum in {storage.name} "
        f"is 1 only up to {storage.unit:g}, and not exactly 1: use kernel='sdpa'",
    )
    need(error < storage.unit / 4, f"{head.kind} heads: 1 is not rounded to exactly 1")
    return fact.no + storage.floor
