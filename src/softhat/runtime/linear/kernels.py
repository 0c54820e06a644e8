"""The softmax of each shape over chunks of positions, with a small state carried along.

A head runs over *times* 0, 1, 2, …: the distance from the sink that its mask starts at (`<bos>`
for j <= i, `<eos>` for j >= i), which is time 0. `chunk` computes many times at once, `step`
one time in plain Python; they share their state, tables and formulas, all in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import exp, expm1, log, log1p
from typing import Any, Protocol

import numpy as np

from softhat.io.errors import SofthatError
from softhat.runtime.linear.columns import Array, View, not_a_bit
from softhat.transformer.rows import IntegerRow, UnknownShapeError
from softhat.transformer.shapes import HeadForm, Local, Ramp

REMEMBERED = 16
"""Bits of a value that a state holds."""


@dataclass(frozen=True, slots=True)
class Word:
    """What a head may know of the word it runs on: its length (None in a stream) and P."""

    length: int | None
    scale: float


class HeadKernel(Protocol):
    """A head's softmax. `times` are consecutive from `start`; one array a value comes back."""

    def fresh(self) -> Any: ...

    def chunk(self, state: Any, view: View, start: int, word: Word) -> list[Array]: ...

    def absorb(self, state: Any, view: View, start: int, word: Word) -> None:
        """The state that `chunk` leaves, without the means."""

    def step(self, state: Any, x: list[float], time: int, word: Word) -> list[float]: ...


@lru_cache(maxsize=32)
def _sums_of_weights(slope: float, even: float, taps: int) -> tuple[Array, tuple[float, ...]]:
    """For each set of distances d below `taps`, as bits of a number, the sum of their weights
    e^-(slope·d + even·[d even]), the largest of which is 1. Most heads of a model have one slope,
    and so one such table of up to 2^16 sums. For reading only."""
    lowest = min(even, slope)
    table = np.zeros(1)
    for d in range(taps):
        weight = exp(lowest - slope * d - (even if d % 2 == 0 else 0.0))
        table = np.concatenate([table, table + weight])
    table.setflags(write=False)
    return table, tuple(table.tolist())


@dataclass(slots=True)
class LocalState:
    """The last 16 bits, latest lowest, of good and of each value; each value's last mean."""

    good: int
    values: list[int]
    held: list[float]


class LocalKernel:
    """Theorem 21. With w_d = e^(-slope·d - even·[d even]) the mean of a value over j <= i is
    Σ w_d·v_(i-d) / Σ w_d over the good keys, up to e^-38 of it: keys further than `taps` from
    the winner are that far below it, and so are bad keys from time `taps` on, because the
    penalty is at least 2·slope·i and the winner gives up at most slope·i. Where i itself is bad
    all weights are those of the last good position times one factor, so the mean is the same.
    At earlier times bad keys are kept, with weight e^-penalty.
    """

    def __init__(self, head: HeadForm, shape: Local) -> None:
        self.shape = shape
        self.ahead = 0
        """How much later than its last key the query is."""
        self.values = [IntegerRow(row) for row in head.values]
        self.weights = [float(row.quantum) for row in self.values]
        self.bad = None if shape.penalty is None else IntegerRow(shape.penalty.row)
        rows = [*self.values, *([] if self.bad is None else [self.bad])]
        if any(abs(k) != 1 for row in rows for _, k in row.terms) or (
            self.bad is not None and self.bad.quantum != 1
        ):
            raise UnknownShapeError("a value or penalty that is no stored bit")
        self.window = (1 << shape.taps) - 1
        self.table, self.lookup = _sums_of_weights(shape.slope, shape.even, shape.taps)

    def fresh(self) -> LocalState:
        return LocalState(0, [0] * len(self.values), [0.0] * len(self.values))

    def chunk(self, state: LocalState, view: View, start: int, word: Word) -> list[Array]:
        bits = [view.bits(row) for row in self.values]
        good = None if self.bad is None else view.bits(self.bad) ^ 1
        out = [np.empty(view.size) for _ in bits]
        early = max(0, min(view.size, self.shape.taps - start))
        for k in range(early):
            means = self._advance(
                state,
                1 if good is None else int(good[k]),
                [int(b[k]) for b in bits],
                start + k,
                word,
            )
            for column, mean in zip(out, means, strict=True):
                column[k] = mean
        if early < view.size:
            rest = [column[early:] for column in out]
            self._settled(
                state, None if good is None else good[early:], [b[early:] for b in bits], rest
            )
        return out

    def absorb(self, state: LocalState, view: View, start: int, word: Word) -> None:
        """16 bits and the last good position are all that is left of a stretch."""
        if start < self.shape.taps or self.bad is None:
            first = 0 if start < self.shape.taps else view.size - REMEMBERED
        else:
            bad = view.bits(self.bad)
            first = view.size - 1 - int(np.argmin(bad[::-1])) - REMEMBERED
            if bad[-1] and bad.all():  # then the last mean is what it was
                first = view.size - REMEMBERED
        self.chunk(state, view.part(slice(max(0, first), None)), start + max(0, first), word)

    def _settled(
        self, state: LocalState, good: Array | None, bits: list[Array], out: list[Array]
    ) -> None:
        """Times from `taps` on."""
        window = np.uint16(self.window)
        if good is None:
            normal = self.table / self.table[-1]
            for k, column in enumerate(bits):
                codes = pack(column, state.values[k])
                state.values[k] = int(codes[-1])
                np.take(normal, (codes & window).astype(np.intp), out=out[k], mode="clip")
                if self.weights[k] != 1:
                    out[k] *= self.weights[k]
                state.held[k] = float(out[k][-1])
            return
        good_codes = pack(good, state.good)
        state.good = int(good_codes[-1])
        at = np.flatnonzero(good.view(np.bool_))
        since = good.astype(np.intp)
        np.cumsum(since, out=since)  # how many good positions up to here
        near = good_codes[at].astype(np.intp) & self.window
        total = self.table.take(near, mode="clip")
        for k, column in enumerate(bits):
            codes = pack(column, state.values[k])
            state.values[k] = int(codes[-1])
            means = np.empty(len(at) + 1)
            means[0] = state.held[k]
            np.divide(self.table.take(codes[at] & near, mode="clip"), total, out=means[1:])
            if self.weights[k] != 1:
                means[1:] *= self.weights[k]
            np.take(means, since, out=out[k], mode="clip")
            state.held[k] = float(out[k][-1])

    def step(self, state: LocalState, x: list[float], time: int, word: Word) -> list[float]:
        good = 1 if self.bad is None else 1 - bit_of(self.bad, x)
        if time >= self.shape.taps and len(self.values) == 1:  # the usual case, unrolled
            goods = state.good = (state.good << 1 | good) & 0xFFFF
            code = (state.values[0] << 1 | bit_of(self.values[0], x)) & 0xFFFF
            state.values[0] = code
            if good:
                near = goods & self.window
                state.held[0] = self.weights[0] * self.lookup[code & near] / self.lookup[near]
            return state.held
        return self._advance(state, good, [bit_of(row, x) for row in self.values], time, word)

    def _advance(
        self, state: LocalState, good: int, bits: list[int], time: int, word: Word
    ) -> list[float]:
        """One time. The bits of the state beyond the word's start are 0."""
        table, window = self.lookup, self.window
        goods = state.good = (state.good << 1 | good) & 0xFFFF
        codes = state.values
        for k, bit in enumerate(bits):
            codes[k] = (codes[k] << 1 | bit) & 0xFFFF
        if time < self.shape.taps:
            seen = (1 << time + 1) - 1 & window
            bad = seen & ~goods
            factor = self._bad_weight(time, word)
            total = table[goods & seen] + factor * table[bad]
            state.held = [
                w * (table[code & goods & seen] + factor * table[code & bad]) / total
                for code, w in zip(codes, self.weights, strict=True)
            ]
        elif good:
            near = goods & window
            total = table[near]
            state.held = [
                w * table[code & near] / total for code, w in zip(codes, self.weights, strict=True)
            ]
        return state.held

    def _bad_weight(self, time: int, word: Word) -> float:
        penalty = self.shape.penalty
        if penalty is None:
            return 0.0
        return exp(-penalty.weight * (word.scale if penalty.scaled else time + self.ahead))


@dataclass(slots=True)
class StrictState:
    """What j <= i sees, and what it saw one time earlier."""

    inner: LocalState
    before: list[float]


class StrictKernel:
    """Over j < i a head returns what it would return over j <= i one time earlier, penalties
    being those of the later query; at time 0 there is no key, and it returns 0."""

    def __init__(self, head: HeadForm, shape: Local) -> None:
        self.inner = LocalKernel(head, shape)
        self.inner.ahead = 1

    def fresh(self) -> StrictState:
        inner = self.inner.fresh()
        return StrictState(inner, [0.0] * len(inner.held))

    def chunk(self, state: StrictState, view: View, start: int, word: Word) -> list[Array]:
        out = []
        for k, column in enumerate(self.inner.chunk(state.inner, view, start, word)):
            out.append(np.concatenate([[state.before[k]], column[:-1]]))
            state.before[k] = float(column[-1])
        return out

    def absorb(self, state: StrictState, view: View, start: int, word: Word) -> None:
        self.inner.absorb(state.inner, view, start, word)
        state.before = list(state.inner.held)

    def step(self, state: StrictState, x: list[float], time: int, word: Word) -> list[float]:
        before = state.before
        state.before = list(self.inner.step(state.inner, x, time, word))
        return before


class UniformKernel:
    """The mean over all times so far, from integer sums: rounded once, by the division."""

    def __init__(self, head: HeadForm) -> None:
        self.values = [IntegerRow(row) for row in head.values]
        self.units = [float(row.quantum) for row in self.values]

    def fresh(self) -> list[int]:
        return [0] * len(self.values)

    def chunk(self, state: list[int], view: View, start: int, word: Word) -> list[Array]:
        count = np.arange(start + 1, start + view.size + 1, dtype=np.float64)
        out = []
        for k, row in enumerate(self.values):
            sums = view.sums(row)
            if abs(state[k]) + row.largest * view.size >= 2**63:
                raise SofthatError("a weighted count is beyond 64 bits: the word is too long")
            np.cumsum(sums, out=sums)
            sums += state[k]
            state[k] = int(sums[-1])
            out.append(sums / count * self.units[k])
        return out

    def absorb(self, state: list[int], view: View, start: int, word: Word) -> None:
        for k, row in enumerate(self.values):
            state[k] += view.total(row)

    def answers(self, state: list[int], view: View, rows: int) -> list[Array]:
        """Means over all `rows` keys, which were absorbed."""
        means = zip(state, self.units, strict=True)
        return [np.full(view.size, total / rows * unit) for total, unit in means]

    def step(self, state: list[int], x: list[float], time: int, word: Word) -> list[float]:
        out = []
        for k, row in enumerate(self.values):
            total = state[k]
            for c, weight in row.terms:
                value = x[c]
                if value == 1:
                    total += weight
                elif value:
                    if value % 1:
                        raise not_a_bit(value)
                    total += weight * int(value)
            state[k] = total
            out.append(total / (time + 1) * self.units[k])
        return out


SETTLED = 14
"""From this time on, and for slopes of STEEP or more, a geometric series is complete: e^(-14·3)."""
STEEP = 3.0
LARGEST_EXPONENT = 700.0


class RampKernel:
    """Theorem 22. Where the score is L - B·d on the t positions at distance d = 0 … t-1 and 0 at
    the sink, the weight of the positions is Z/(1 + Z), Z = e^L·Σ e^(-B·d): a geometric series,
    e^L(1 - e^(-Bt))/(1 - e^-B). L and B are linear in what the query holds."""

    def __init__(self, head: HeadForm, shape: Ramp) -> None:
        self.shape = shape
        self.past = head.mask == "<="
        self.values = [sum(w for _, w in row) for row in head.values]
        self.sloped = any(steep for _, _, steep in shape.contents)

    def fresh(self) -> None:
        return None

    def chunk(self, state: None, view: View, start: int, word: Word) -> list[Array]:
        time = np.arange(start, start + view.size, dtype=np.float64)
        other = None if word.length is None else word.length + 1 - time
        near, far = (1, 2) if self.past else (2, 1)
        own = self.shape.own
        logit = np.full(view.size, own[0])
        _add(logit, own[near], time)
        _add(logit, own[far], other)
        slope: Any = self.shape.slope
        if self.sloped:
            slope = np.full(view.size, slope)
        for c, parts, steep in self.shape.contents:
            x = view.floats(c)
            factor = np.full(view.size, parts[0])
            _add(factor, parts[near], time)
            _add(factor, parts[far], other)
            factor *= x
            logit += factor
            if steep:
                slope += x * steep
        mean = self._settled(logit, slope) if np.min(slope) >= STEEP else np.empty(view.size)
        early = view.size if np.min(slope) < STEEP else max(0, min(view.size, SETTLED - start))
        if early:
            steps = slope[:early] if self.sloped else np.full(early, slope)
            mean[:early] = _weight(logit[:early], steps, time[:early])
        return [mean if v == 1 else mean * v for v in self.values]

    def absorb(self, state: None, view: View, start: int, word: Word) -> None:
        """Nothing is carried."""

    def _settled(self, logit: Array, slope: Any) -> Array:
        np.clip(logit, -LARGEST_EXPONENT, LARGEST_EXPONENT, out=logit)
        odds = np.exp(-logit)
        odds *= 1.0 - np.exp(-slope)
        odds += 1.0
        return np.divide(1.0, odds, out=odds)

    def step(self, state: None, x: list[float], time: int, word: Word) -> list[float]:
        shape = self.shape
        other = 0 if word.length is None else word.length + 1 - time
        i, r = (time, other) if self.past else (other, time)
        constant, per_i, per_r = shape.own
        logit = constant + per_i * i + per_r * r
        slope = shape.slope
        for c, (k, k_i, k_r), steep in shape.contents:
            logit += (k + k_i * i + k_r * r) * x[c]
            slope += steep * x[c]
        if time >= SETTLED and slope >= STEEP:
            logit = max(-LARGEST_EXPONENT, min(LARGEST_EXPONENT, logit))
            mean = 1.0 / (1.0 + exp(-logit) * (1.0 - exp(-slope)))
        else:
            mean = float(_weight(np.array([logit]), np.array([slope]), np.array([time]))[0])
        return [mean * v for v in self.values]


def _add(total: Array, weight: float, positions: Array | None) -> None:
    if weight:
        if positions is None:
            raise SofthatError("this model reads the distance to the end: it cannot be streamed")
        total += positions * weight


def _weight(logit: Array, slope: Array, time: Array) -> Array:
    """Z/(1 + Z) for any slope: log Σ_{d<t} e^(-B·d), turned around where B is negative."""
    out = np.zeros(len(logit))
    for k, (own, b, t) in enumerate(
        zip(logit.tolist(), slope.tolist(), time.tolist(), strict=True)
    ):
        if t == 0:
            continue
        steep = abs(b)
        series = log(t) if steep * t < 1e-12 else log(expm1(-steep * t) / expm1(-steep))
        if b < 0:
            series += steep * (t - 1)
        total = own + series
        out[k] = 1.0 / (1.0 + exp(-total)) if total > 0 else exp(total - log1p(exp(total)))
    return out


def pack(bits: Array, before: int) -> Array:
    """For each position its bit and the 15 before it as one number, its own bit lowest."""
    extended = np.empty(15 + len(bits), np.uint16)
    extended[:15] = [before >> k & 1 for k in range(14, -1, -1)]
    extended[15:] = bits
    for width in (1, 2, 4, 8):
        earlier = extended[:-width] << np.uint16(width)
        extended = np.bitwise_or(earlier, extended[width:], out=earlier)
    return extended


def bit_of(row: IntegerRow, x: list[float]) -> int:
    if row.plain is not None:
        total = x[row.plain]
    else:
        total = 0.0
        for c, k in row.terms:
            total += k * x[c]
    if total == 1:
        return 1
    if total:
        raise not_a_bit(total)
    return 0
