"""A search for words on which a simulation in floats is wrong: off by more than ε, or not finite.

Words that are hard for rounding: nearly constant ones, blocks, short periods, mechanical words
(whose prefix averages stay as close to a slope as integers allow), random ones, and the worst of
them with symbols changed. Lengths are doubled until a word fails, then bisected. Short words run
through the dense runtime in batches and one by one (its two kernels); of long ones only some rows
of the last attention layer are computed, with the same functions. What is right comes from exact
rationals, beyond `EXACT_TO` from float64, of which the certificate says how far it can be off.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from softhat.ahat.analysis.gap_laws import gap_laws
from softhat.ahat.bounds.bags import bags_of
from softhat.ahat.exact import run
from softhat.ahat.simulation.simulation import Simulation
from softhat.numerics.formats import FORMATS
from softhat.runtime.attend import TILE
from softhat.runtime.dense import Ready, ReadyHead, ReadyLayer
from softhat.transformer.weights import inverse_temperature

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
EXACT_TO = 64
"""Values to this length are compared with exact rationals."""
WHOLE_TO = 1_500
"""Words to this length are run whole."""
WORK = 3e7
"""Scores computed for one length (those of three words at least)."""
ROWS = 1e7
"""Scores computed for one long word."""
BAGS = 2_000_000
"""Rows of the words among which those with ties are looked for."""


@dataclass(frozen=True)
class Failure:
    """A word, as a description, and how far its worst value is off."""

    length: int
    error: float
    word: str


class Search:
    """A simulation and the format in which it is attacked."""

    def __init__(self, s: Simulation, dtype: str, epsilon: float, seed: int = 1) -> None:
        self.s, self.source, self.dtype, self.epsilon = s, s.source, dtype, epsilon
        self.ready = Ready(s.transformer, FORMATS[dtype])
        self.wide = Ready(s.transformer, FORMATS["float64"])
        self.certificate = s.certificate
        self.rng = random.Random(seed)
        self.tried = 0  # the greatest length of a word that was run

    def first_failure(self, start: int, last: int) -> Failure | None:
        """The shortest failure found from a length on."""
        n, good, found = max(1, start), max(0, start - 1), None
        while found is None and n <= last:
            # Averages over n meet each other, or round, at some lengths only.
            near = range(n, min(last, n + 3) + 1) if n <= 600 else (n, min(n + 1, last))
            found = next(filter(None, map(self.fails, near)), None)
            if found is None:
                good, n = n, min(2 * n, last) if n < last else last + 1
        if found is None:
            return None
        while found.length - good > max(1, good // 16):
            middle = (found.length + good) // 2
            nearer = self.fails(middle)
            if nearer is None:
                good = middle
            else:
                found = nearer
        if bags_of(self.source) is None or found.length > 600:
            return found
        # Bags tie at lengths with many divisors: shorter ones may fail though longer ones do not.
        shorter = range(max(start, found.length * 3 // 4) // 4 * 4 + 4, found.length, 4)
        return next(filter(None, map(self.fails, shorter)), found)

    def fails(self, n: int) -> Failure | None:
        """A word of this length that fails, if one is found."""
        self.tried = max(self.tried, n)
        worst, best = -1.0, None
        work = 0.0
        for tried, (label, codes) in enumerate(self._words(n)):
            error = float(self._errors(codes[None])[0])
            if error > worst:
                worst, best = error, codes
            if error > self.epsilon:
                return Failure(n, error, label)
            work += self._cost(n)
            if work > WORK and tried >= 2:
                break
        assert best is not None
        if n > 600:
            return None
        return self._tied_bags(n) or self._many_counts(n) or self._climb(n, best, worst)

    def _tied_bags(self, n: int) -> Failure | None:
        """Words whose numbers of each symbol make different keys tie, where only those matter; all
        symbols but one are rare, since what is common is clipped."""
        made = bags_of(self.source)
        if made is None:
            return None
        size, rng = len(self.source.alphabet), np.random.default_rng(self.rng.randrange(1 << 30))
        laws = gap_laws(self.source).gap.items()
        gaps = {name: float(law.at(n)) for name, law in laws if law is not None}
        for _ in range(4):
            bags = rng.integers(0, max(2, n // size // 2 + 1), (BAGS // n, size))
            rest = rng.integers(0, size, len(bags))
            bags[np.arange(len(bags)), rest] = 0
            bags[np.arange(len(bags)), rest] = n - bags.sum(axis=1)
            tied = made.dangerous(bags[bags.min(axis=1) >= 0], n, gaps)
            if tied is None or not tied.any():
                continue
            chosen = bags[bags.min(axis=1) >= 0][tied.any(axis=1)][: int(WORK / n**2 / 8) + 1]
            words = np.array([np.repeat(np.arange(size), bag) for bag in chosen])
            worst = float(self._errors(words).max())
            if worst > self.epsilon:
                return Failure(n, worst, "blocks that tie")
        return None

    def _many_counts(self, n: int) -> Failure | None:
        """Words in blocks: averages see nothing but how often each symbol occurs, and scores that
        they feed tie at a few counts only."""
        size = len(self.source.alphabet)
        for _ in range(4):
            cuts = [sorted(self.rng.randint(0, n) for _ in range(size - 1)) for _ in range(120)]
            tried = np.array([np.searchsorted(c, np.arange(n), side="right") for c in cuts])
            worst = float(self._errors(tried).max())
            if worst > self.epsilon:
                return Failure(n, worst, "blocks")
        return None

    def _climb(self, n: int, best: Codes, worst: float) -> Failure | None:
        """The worst word with a few symbols changed, again and again, many at a time."""
        size = len(self.source.alphabet)
        for _ in range(10 if n <= 100 else 3):
            tried = np.repeat(best[None], 48, axis=0)
            for row in tried:
                for _ in range(self.rng.choice([1, 1, 2, 3])):
                    row[self.rng.randrange(n)] = self.rng.randrange(size)
            found = self._errors(tried)
            if found.max() >= worst:
                best, worst = tried[int(found.argmax())], float(found.max())
            if worst > self.epsilon:
                return Failure(n, worst, "climbed")
        return None

    def _words(self, n: int) -> Iterator[tuple[str, Codes]]:
        rng, size = self.rng, len(self.source.alphabet)
        letters = self.source.alphabet
        found = np.random.default_rng(rng.randrange(1 << 30)).integers(0, size, n)
        yield "random", found.astype(np.int64)
        for a in range(size):
            b = (a + 1) % size
            one = np.full(n, a)
            for place, name in ((n - 1, "last"), (0, "first"), (n // 2, "middle")):
                changed = one.copy()
                changed[place] = b
                yield f"{letters[a]}… but {name} {letters[b]}", changed
            yield letters[a] + "…", one
        while True:
            kind = rng.randrange(6)
            a, b = rng.sample(range(size), 2)
            if kind == 0:
                pattern = [rng.randrange(size) for _ in range(rng.randint(2, 7))]
                yield "periodic", np.resize(np.array(pattern), n)
            elif kind == 1:
                cut = rng.choice([1, 2, n // 4, n // 2, n // 2 + 1, n - 2, rng.randrange(n)])
                yield "two blocks", np.where(np.arange(n) < cut, a, b)
            elif kind == 2:
                bottom = rng.randint(1, max(1, min(n, 2000)))
                slope, shift = Fraction(rng.randint(0, bottom), bottom), rng.random()
                steps = np.floor(np.arange(n + 1) * float(slope) + shift)
                yield f"slope {slope}", np.where(np.diff(steps) > 0, a, b)
            elif kind == 3:
                share = rng.choice([0.5, 0.1, 0.9, 1 / n, rng.random()])
                chosen = np.random.default_rng(rng.randrange(1 << 30)).random(n) < share
                yield f"random, {share:.3g}", np.where(chosen, a, b)
            elif kind == 4:
                cuts = np.sort([rng.randint(0, n) for _ in range(size - 1)])
                order = np.array(rng.sample(range(size), size))
                yield "blocks", order[np.searchsorted(cuts, np.arange(n), side="right")]
            else:
                found = np.random.default_rng(rng.randrange(1 << 30)).integers(0, size, n)
                yield "random", found.astype(np.int64)

    def _cost(self, n: int) -> float:
        if n <= WHOLE_TO:
            return float(n * n) + 3000.0 * n
        full = sum(
            len(head.query.values) > 0 for layer in self.ready.layers[:-1] for head in layer.heads
        )
        return n * (n * full + 40.0) + min(48.0 * n, ROWS)

    def _errors(self, codes: Codes) -> Floats:
        """How far each word's worst value is off, at least."""
        n = codes.shape[1]
        if n <= WHOLE_TO:
            found = self.s.run_batch(codes, self.dtype)[..., 0].astype(np.float64)
            rows: Any = slice(None)
        else:
            picked = [n - 1, 1, n // 2, 0, n - 2, 2, *(self.rng.randrange(n) for _ in range(40))]
            rows = np.array(sorted(set(picked[: max(3, int(ROWS / n))])))
            found = np.stack([partial(self.ready, word, rows) for word in codes])
        if n <= EXACT_TO:
            trace = run(self.source, codes)
            off = np.abs(found - trace.output.floats()[:, trace.own])
        else:
            if n > self.certificate.max_length["float64"]:
                raise LookupError(f"float64 is certified only to {n - 1}")
            if n <= WHOLE_TO:
                right = self.s.run_batch(codes, "float64")[..., 0]
            else:
                right = np.stack([partial(self.wide, word, rows) for word in codes])
            off = np.abs(found - right) - self.certificate.error - 1e-9
        worst: Floats = np.where(np.isfinite(found), off, np.inf).max(axis=1)
        return worst


def partial(ready: Ready, word: Codes, rows: npt.NDArray[np.int64]) -> Floats:
    """Values at some positions: the last layer with heads that score is computed there alone."""
    x = ready.embed(word[None])
    rows = rows + ready.transformer.has_bos
    scoring = [
        l for l, layer in enumerate(ready.layers) if any(len(h.query.values) for h in layer.heads)
    ]
    last = scoring[-1] if scoring else len(ready.layers) - 1
    for layer in ready.layers[:last]:
        x, _ = ready.step(layer, x, False)
    x = _step_at(ready, ready.layers[last], x, rows)
    for layer in ready.layers[last + 1 :]:
        assert not layer.heads
        x, _ = ready.step(layer, x, False)
    flat = np.ascontiguousarray(x[0].T)
    found = ready.form.round(ready.readout(flat) + ready.readout_bias)
    return found[0].astype(np.float64)


def _step_at(ready: Ready, layer: ReadyLayer, x: Any, rows: npt.NDArray[np.int64]) -> Any:
    form = ready.form
    flat = np.ascontiguousarray(x[0].T)
    outputs = np.zeros((len(layer.heads), layer.d_v, len(rows)), form.accumulate)
    n = len(x[0]) - len(ready.transformer.sinks)
    with np.errstate(over="ignore", invalid="ignore"):
        for o, head in zip(outputs, layer.heads, strict=True):
            beta = inverse_temperature(head.law, n)
            o[head.values] = _attended(ready, head, flat, rows, beta)
        here = np.ascontiguousarray(flat[:, rows])
        if layer.heads:
            here = form.round(here + layer.output(outputs.reshape(-1, len(rows))))
        if layer.into_bias.size:
            here = ready._feed_forward(layer, here)
    return here.T[None]


def _attended(
    ready: Ready, head: ReadyHead, flat: Any, rows: npt.NDArray[np.int64], beta: float
) -> Any:
    """As `Attention._within`, for some rows."""
    form, attention = ready.form, ready.attention
    q, k, v = (form.round(m(flat)) for m in (head.query, head.key, head.value))
    if len(v) == 0:
        return np.zeros((0, len(rows)), form.accumulate)
    if len(q) == 0:
        return attention(q[..., None], k[..., None], v[..., None], head.mask, beta)[:, rows, 0]
    total = k.shape[1]
    padded = -(-total // TILE) * TILE
    keys = np.zeros((len(k), padded), attention.summing(len(k)))
    keys[:, :total] = k
    values = np.zeros((padded, len(v) + 1), v.dtype)
    values[:total, :-1], values[:total, -1] = v.T, 1
    out = np.zeros((len(v), len(rows)), v.dtype)
    places = np.arange(padded)
    for r, i in enumerate(rows):
        query = np.ascontiguousarray(q[:, i : i + 1].T)
        scores = attention._scores(query[None], keys[None], beta)
        hidden = {
            "none": places < 0, "<=": places > i, "<": places >= i, ">=": places < i,
            ">": places <= i,
        }[head.mask]  # fmt: skip
        scores[0, 0, hidden | (places >= total)] = -np.inf
        sums = attention._summed(scores, values[None], head.mask)[0, 0]
        out[:, r] = sums[:-1] / sums[-1] if sums[-1] else 0
    return form.round(out)
