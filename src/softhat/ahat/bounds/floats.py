"""How far the softmax transformer in floats is from hard attention, or from softmax in the reals.

|float - hard| ≤ |float - soft| + |soft - hard|: where the second part is proved elsewhere (laws,
sets, words), this is the first; given how steep each head is (βγ, `Temperatures.steep`), it is
the left side at once. It follows the dense runtime step by step: every rounding (of weights,
position features, projections, scores, weights, averages, residuals), the format's range (a value,
score or β that may overflow voids the bound) and underflow. Integers and dyadic numbers that fit
the significand are exact, so equal scores made of them stay equal; so do quotients of them, which
are rounded once.

A row whose scores are off by at most e, pairwise, moves its attention by at most tanh(e/4) in
total variation; if it leaks at most L and has one maximum, by at most L·(e^e - 1). From hard
attention it is off by at most (T-1)·e^(e-βγ) + tanh(t/4), where t is how far scores that should be
equal are apart: the theorem of temperature laws (`row_error` of proofs/Ties.v).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softhat.ahat.bounds.envelope import Box, LayerBoxes, envelope
from softhat.ahat.bounds.weights import ANY, Entries, HeadWeights, LayerWeights, Weights, dyadic
from softhat.formats import NARROW, WIDE_DIGITS, Format
from softhat.positions import Digit, Feature, Holds, Mod, Named, Table

Floats = npt.NDArray[np.float64]
HeadId = tuple[int, int]
INEXACT = 0.0  # a grid of 0: not known to be exact
FOREVER = 1 << 24  # no length beyond is asked for


@dataclass(frozen=True, slots=True)
class Rounded:
    """Quantities in floats: off by at most `error` from the reals, at most `size` there; where
    `grid` is not 0 they are exact multiples of it, a power of two."""

    error: Floats
    size: Floats
    width: Floats  # of the range over positions, in the reals
    grid: Floats
    tied: Floats
    """Two positions whose numbers are equal in the reals have equal floats, or (both being 0 in the
    reals) floats of at most this size; inf: nothing is known. Only kept against hard attention."""


class _Void(Exception):  # noqa: N818
    """Something may leave the format's range."""


@dataclass(frozen=True, slots=True)
class Temperatures:
    """β and leak of every head at a length (or bounds over a stretch of lengths)."""

    beta: Mapping[HeadId, float]
    leak: Mapping[HeadId, float]  # of softmax in the reals; 1 if nothing is known
    single: Mapping[HeadId, bool]  # one key is maximal in every row
    near: Mapping[HeadId, int]  # at most so many keys have a weight that does not underflow to 0
    steep: Mapping[HeadId, Steep] | None = None  # given: errors are against hard attention


@dataclass(frozen=True, slots=True)
class Steep:
    """How far below the maximum a head's other keys are."""

    drop: float  # βγ, at least
    crowd: int | None  # at most so many keys at each multiple of it; None: any number

    def leak(self, keys: int, off: float) -> float:
        """The weight of all keys that are not maximal, over that of one that is, where scores are
        off by at most this."""
        if self.drop <= 0 or off > 600:
            return math.inf
        if self.crowd is not None and self.drop < 600:
            return self.crowd / math.expm1(self.drop) * math.exp(off)
        return (keys - 1) * math.exp(off - self.drop)


def float_error(used: Weights, n: int, heads: Temperatures, form: Format) -> float:
    """A bound on |float value - softmax value| for all words to length n; inf if there is none.
    With `heads.steep` it is one on |float value - hard value|."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        try:
            found = _Walk(used, n, heads, form).run()
        except _Void:
            return math.inf
    return found if math.isfinite(found) else math.inf


class _Walk:
    """One forward pass of bounds, in the order of the dense runtime."""

    def __init__(self, used: Weights, n: int, heads: Temperatures, form: Format) -> None:
        self.used, self.n, self.heads, self.form = used, n, heads, form
        self.keys = n + used.model.sinks
        self.u = 2.0**-form.digits
        self.u_sum = 2.0**-form.sum_digits
        self.tiny = form.smallest
        self.most = 2.0 ** (form.digits - 1)  # steps of a grid that fit the significand

    def run(self) -> float:
        boxes, end = envelope(self.used, self.n)
        x = self._embedding(boxes[0].before if boxes else end)
        for l, (layer, box) in enumerate(zip(self.used.layers, boxes, strict=True)):
            x = self._attention(l, layer.heads, x, box)
            after = boxes[l + 1].before if l + 1 < len(boxes) else end
            x = self._forward(layer, x, box, after)
        y = self._linear(x, self.used.readout, end, self.used.bias)
        return float(y.error[0]) * (1 + 1e-9)

    def _embedding(self, box: Box) -> Rounded:
        """Token row plus position features through their matrix, then rounded."""
        used, features = self.used, self.used.model.positions
        sizes = np.array([_feature_size(f, self.n) for f in features])
        steps = np.array([_feature_grid(f) for f in features])
        largest = used.tokens.size.max(axis=0) + used.places.size @ sizes
        self._fits(largest)
        grid = used.tokens.grid(self.form.digits).min(axis=0)
        grid = np.minimum(grid, used.places.product_grid(steps, self.form.digits))
        grid = np.where((grid > 0) & (largest <= self.most * grid), grid, INEXACT)
        terms = 4 + np.count_nonzero(used.places.size, axis=1)
        error = largest * (3 * self.u + terms * self.u_sum) * 1.01 + terms * self.tiny
        error = np.where((grid > 0) | (largest == 0), 0.0, error)
        return Rounded(error, box.size, box.width, grid, np.where(error > 0, np.inf, 0.0))

    def _attention(
        self, l: int, heads: tuple[HeadWeights, ...], x: Rounded, box: LayerBoxes
    ) -> Rounded:
        """The heads' results through one matrix, added to the residual, then rounded."""
        if not heads:
            return x
        d = len(x.error)
        error, added, terms = x.error.copy(), np.zeros(d), np.zeros(d)
        tied = np.where((x.size == 0) & (x.error == 0), 0.0, np.inf)
        for h, head in enumerate(heads):
            o = self._head((l, h), head, x, box.before)
            tied = tied + _scaled(head.output, o.tied)
            error += head.output.size @ o.error
            added += head.output.size @ (o.size + o.error)
            terms += (head.output.size > 0).sum(axis=1)
        self._fits(added)
        error += (terms + 2) * (self.u_sum * added * 1.01 + self.tiny) + 1.01 * self.u * added
        error += 1.01 * self.u * (np.minimum(x.size + added, box.middle.size) + error) + self.tiny
        touched = terms > 0
        error = np.where(touched, error, x.error)
        self._fits(box.middle.size + error)
        grid = np.where(touched, INEXACT, x.grid)
        tied = np.where(touched, np.where(terms == 1, tied, np.inf), x.tied)
        return Rounded(error, box.middle.size, box.middle.width, grid, tied)

    def _head(self, name: HeadId, head: HeadWeights, x: Rounded, box: Box) -> Rounded:
        """What a head averages, before its output matrix."""
        v = self._linear(x, head.value, box)
        spread, apart = self._spread(name, head, x, box)
        moved, leak = self._moved(name, spread, apart)
        moved = min(1.0, moved + self.keys * self.tiny)
        self._fits(self.keys * (v.size + v.error))  # the sum before it is divided
        # Sums of maximal keys' values are exact, and what leaks is too small to change them.
        whole = (v.grid > 0) & (self.keys * v.size <= 2.0**self.form.sum_digits * v.grid)
        whole &= apart == 0 and leak <= self.u_sum / 4
        whole &= leak * v.size <= self.u_sum * v.grid / 4
        count = min(self.keys, self.heads.near.get(name, self.keys))  # adding 0 rounds nothing
        rounding = np.where(whole, 2 * self.u_sum, 2 * _gamma(count + 4, self.u_sum))
        error = v.error + moved * (v.width + 2 * v.error)
        error = error + (rounding + 1.01 * self.u) * (v.size + v.error) + self.tiny
        nothing = (v.size == 0) & (v.error == 0)
        error = np.where(nothing, 0.0, error)
        tied = np.where(whole, 1.01 * leak * v.size + self.tiny * (leak > 0), np.inf)
        return Rounded(error, v.size, v.width, np.zeros(len(v.size)), np.where(nothing, 0.0, tied))

    def _moved(self, name: HeadId, spread: float, apart: float) -> tuple[float, float]:
        """Total variation that scores off by `spread` make (equal ones by `apart`), and the weight
        of keys that are not maximal, over that of one that is (inf: not known)."""
        if self.keys == 1:
            return 0.0, 0.0  # one key takes all
        if self._is_uniform(name):
            return math.tanh(spread / 4), 0.0
        single = self.heads.single.get(name, False)
        if self.heads.steep is None:
            moved = math.tanh(spread / 4)
            if single and spread < 1:
                moved = min(moved, self.heads.leak.get(name, 1.0) * math.expm1(spread))
            return moved, math.inf
        leak = self.heads.steep[name].leak(self.keys, spread)
        return min(1.0, leak + (0.0 if single else math.tanh(apart / 4))), leak

    def _is_uniform(self, name: HeadId) -> bool:
        return self.heads.leak.get(name) == 0.0

    def _spread(self, name: HeadId, head: HeadWeights, x: Rounded, box: Box) -> tuple[float, float]:
        """How far two keys' scores (times β) can be off against each other, with the rounding of
        their weights, and how far equal ones can be apart; 0 where equal scores stay equal."""
        rows = len(head.query.values)
        if not rows:
            return 0.0, 0.0
        beta = self.heads.beta.get(name, 1.0)
        if not math.isfinite(beta) or beta > self.form.largest:
            raise _Void
        q, k = self._linear(x, head.query, box), self._linear(x, head.key, box)
        wide = rows > NARROW
        u_sum = 2.0**-WIDE_DIGITS if wide else self.u_sum
        tiny = 5e-324 if wide or self.form.sum_digits == WIDE_DIGITS else 2.0**-149
        q_hat, k_hat = q.size + q.error, k.size + k.error
        size = float(q_hat @ k_hat)
        self._fits(np.array([size, beta * size]))
        weights = (self.form.lost + 8) * self.u_sum + self.u
        steps = q.grid * k.grid
        if (steps > 0).all() and size <= self.most * float(steps.min()):
            # Shorter lengths may have a smaller β: of its 6 bits the last is at least β/64.
            unit = float(steps.min()) * (1.0 if beta == 1 else beta / 64)
            if beta * size <= self.most * unit:
                return (0.0 if self._is_uniform(name) else 2 * weights), 0.0
            largest = _largest_score(box, head)  # only the product with β is rounded
            return beta * 2.02 * self.u * largest + 2 * weights, 0.0
        passed = float(q.error @ (k.width + 2 * k.error) + q_hat @ (2 * k.error))
        rounding = size * (_gamma(rows + 2, u_sum) + 1.01 * self.u) + (rows + 1) * tiny
        spread = beta * (passed + 2 * rounding) + 2 * weights + 2 * self.tiny
        if rows == 1 and not q.error.any() and math.isfinite(k.tied[0]):
            # Equal scores have equal keys: equal floats, or floats that stand for 0.
            return spread, 2.02 * beta * float(q_hat[0] * k.tied[0])
        return spread, spread

    def _forward(self, layer: LayerWeights, x: Rounded, box: LayerBoxes, after: Box) -> Rounded:
        """The hidden units, rounded; their sum with the residual, rounded."""
        if layer.into is None or layer.out is None or box.hidden is None:
            return x
        assert layer.out_bias is not None
        hidden = self._linear(x, layer.into, box.middle, layer.into_bias)
        active = np.maximum(box.hidden.high, 0.0)
        size, bias = np.minimum(active, hidden.size), layer.out_bias.size[0]
        added = layer.out.size @ (size + hidden.error) + bias
        total = x.size + added
        terms = (layer.out.size > 0).sum(axis=1) + 3
        error = x.error + layer.out.size @ hidden.error + 1.01 * self.u * added
        error = error + terms * (1.01 * self.u_sum * added + self.tiny)
        error = error + 1.01 * self.u * (total + x.error) + self.tiny
        grid = layer.out.product_grid(hidden.grid, self.form.digits)
        grid = np.minimum(grid, layer.out_bias.grid(self.form.digits)[0])
        still = (x.size == 0) & (x.error == 0)
        grid = np.minimum(grid, np.where(still, ANY, x.grid))
        grid = np.where((grid > 0) & (total <= self.most * grid), grid, INEXACT)
        touched = (terms > 3) | (bias > 0)
        error = np.where(touched, np.where(grid > 0, 0.0, error), x.error)
        self._fits(total + error)
        grid = np.where(touched, grid, x.grid)
        tied = np.where(touched, np.where(grid > 0, 0.0, np.inf), x.tied)
        return Rounded(error, after.size, after.width, grid, tied)

    def _linear(
        self, x: Rounded, matrix: Entries, box: Box, bias: Entries | None = None
    ) -> Rounded:
        """matrix · x + bias, summed and then rounded."""
        shift = np.zeros(len(matrix.values)) if bias is None else bias.values[0]
        reals = box.through(matrix.values, shift)
        x_hat = x.size + x.error
        size = matrix.size @ x_hat + np.abs(shift)
        self._fits(matrix.size)
        self._fits(size)
        terms = (matrix.size > 0).sum(axis=1) + 2
        lost = self.tiny * (1 + float(x_hat.max(initial=0.0)))  # products and weights underflow
        error = matrix.size @ x.error + 2.02 * self.u * size
        error = error + terms * (1.01 * self.u_sum * size + lost)
        grid = matrix.product_grid(x.grid, self.form.digits)
        if bias is not None:
            grid = np.minimum(grid, bias.grid(self.form.digits)[0])
        grid = np.where((grid > 0) & (size <= self.most * grid), grid, INEXACT)
        tied = np.where(grid > 0, 0.0, np.inf)
        if bias is None:
            tied = np.minimum(tied, _scaled(matrix, x.tied, alone=True))
        return Rounded(np.where(grid > 0, 0.0, error), reals.size, reals.width, grid, tied)

    def _fits(self, sizes: Floats) -> None:
        if sizes.size and not float(np.max(sizes)) < self.form.largest / 4:
            raise _Void


def _scaled(matrix: Entries, tied: Floats, alone: bool = False) -> Floats:
    """How far rows of a matrix keep equal numbers apart (`alone`: rows with one entry only)."""
    used = matrix.size > 0
    found = np.where(used, 1.01 * matrix.size * np.where(used, tied, 0.0), 0.0).sum(axis=1)
    found = np.where((used & (tied == np.inf)).any(axis=1), np.inf, found)
    return np.where(used.sum(axis=1) == 1, found, np.inf) if alone else found


def _largest_score(box: Box, head: HeadWeights) -> float:
    """A bound on |score| in the reals, from the signs of its products."""
    q, k = box.through(head.query.values), box.through(head.key.values)
    ends = [a * b for a in (q.low, q.high) for b in (k.low, k.high)]
    low, high = np.minimum.reduce(ends).sum(), np.maximum.reduce(ends).sum()
    return float(max(-low, high, 0.0)) * (1 + 1e-9)


def _gamma(operations: int, u: float) -> float:
    x = operations * u
    return x / (1 - x) if x < 0.5 else math.inf


def _feature_size(feature: Feature, n: int) -> float:
    match feature:
        case Named("i" | "r" | "n"):
            return float(n)
        case Named("i^2"):
            return float(n) ** 2
        case Named() | Mod() | Digit() | Holds():
            return 1.0
        case Table(entries):
            return max((abs(float(e)) for e in entries), default=0.0)


def _feature_grid(feature: Feature) -> float:
    match feature:
        case Named(name):
            return 0.0 if "/" in name else 1.0
        case Mod() | Digit() | Holds():
            return 1.0
        case Table(entries):
            return min((dyadic(e)[0] for e in entries), default=1.0)


def longest(fits: Callable[[int, int], bool]) -> int:
    """The greatest n to `FOREVER` such that every length 1 … n is in a stretch that fits."""
    done, step = 0, 1
    while done < FOREVER:
        high = min(done + step, FOREVER)
        if fits(done + 1, high):
            done, step = high, min(2 * step, max(1, high // 2))
        elif step == 1:
            return done
        else:
            step = max(1, step // 4)
    return done
