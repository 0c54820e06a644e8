"""How far the softmax transformer in floats is from the one in the reals, at a length.

|float - hard| ≤ |float - soft| + |soft - hard|: the second part is proved elsewhere (laws, sets,
words); this is the first. It follows the dense runtime step by step: every rounding (of weights,
position features, projections, scores, weights, averages, residuals), the format's range (a value,
score or β that may overflow voids the bound) and underflow. Integers and dyadic numbers that fit
the significand are exact, so equal scores made of them stay equal.

A row whose scores are off by at most e, pairwise, moves its attention by at most tanh(e/4) in
total variation; if it leaks at most L and has one maximum, by at most L·(e^e - 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from softhat.ahat.bounds.envelope import Box, LayerBoxes, envelope
from softhat.ahat.exact import floats
from softhat.ahat.model import AHAT, FeedForward, Head, Matrix, Vector
from softhat.formats import NARROW, WIDE_DIGITS, Format
from softhat.positions import Feature, Mod, Named, Table

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


class _Void(Exception):  # noqa: N818
    """Something may leave the format's range."""


@dataclass(frozen=True, slots=True)
class Temperatures:
    """β and leak of every head at a length (or bounds over a stretch of lengths)."""

    beta: Mapping[HeadId, float]
    leak: Mapping[HeadId, float]  # of softmax in the reals; 1 if nothing is known
    single: Mapping[HeadId, bool]  # one key is maximal in every row
    near: Mapping[HeadId, int]  # at most so many keys have a weight that does not underflow to 0
    exact: bool = True  # β itself is given, not a bound on it


def float_error(model: AHAT, n: int, heads: Temperatures, form: Format) -> float:
    """A bound on |float value - softmax value| for all words to length n; inf if there is none."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        try:
            found = _Walk(model, n, heads, form).run()
        except _Void:
            return math.inf
    return found if math.isfinite(found) else math.inf


class _Walk:
    def __init__(self, model: AHAT, n: int, heads: Temperatures, form: Format) -> None:
        self.model, self.n, self.heads, self.form = model, n, heads, form
        self.keys = n + int(model.bos)
        self.u = 2.0**-form.digits
        self.u_sum = 2.0**-form.sum_digits
        self.tiny = form.smallest

    def run(self) -> float:
        boxes, end = envelope(self.model, self.n)
        x = self._embedding(boxes[0].before if boxes else end)
        for l, (layer, box) in enumerate(zip(self.model.layers, boxes, strict=True)):
            x = self._attention(l, layer.heads, x, box)
            if layer.feed_forward is not None:
                after = boxes[l + 1].before if l + 1 < len(boxes) else end
                x = self._forward(layer.feed_forward, x, box, after)
        row = (self.model.output_weights,)
        y = self._linear(x, row, end, (self.model.output_bias,))
        return float(y.error[0]) * (1 + 1e-9)

    # Steps

    def _embedding(self, box: Box) -> Rounded:
        """Token row plus position features through their matrix, then rounded."""
        model = self.model
        tokens = [*model.embedding, *([model.bos_embedding] if model.bos_embedding else [])]
        table = np.abs(floats(tuple(tokens)))
        features = [_feature_size(f, self.n) for f in model.positions]
        weights = np.abs(floats(model.position_embedding, len(features)))
        sizes = np.array(features)
        largest = table.max(axis=0) + (weights @ sizes if len(features) else 0.0)
        self._fits(largest)
        error = np.zeros(model.d_model)
        grid = np.full(model.d_model, INEXACT)
        for c in range(model.d_model):
            step = _embedding_grid(model, c)
            if step and largest[c] / step <= 2.0 ** (self.form.digits - 1):
                grid[c] = step
            elif largest[c]:
                terms = 4 + int(np.count_nonzero(weights[c])) if len(features) else 3
                error[c] = largest[c] * (3 * self.u + terms * self.u_sum) * 1.01 + terms * self.tiny
        return Rounded(error, box.size, box.width, grid)

    def _attention(self, l: int, heads: tuple[Head, ...], x: Rounded, box: LayerBoxes) -> Rounded:
        d = self.model.d_model
        error, added = x.error.copy(), np.zeros(d)
        touched, terms = np.zeros(d, dtype=bool), np.zeros(d)
        for h, head in enumerate(heads):
            if not head.value:
                continue
            o = self._head((l, h), head, x, box.before)
            weights = np.abs(floats(head.output))
            error += weights @ o.error
            added += weights @ (o.size + o.error)
            touched |= weights.any(axis=1)
            terms += (weights > 0).sum(axis=1)
        error += (terms + 2) * (self.u_sum * added * 1.01 + self.tiny) + 1.01 * self.u * added
        size = np.minimum(x.size + added, np.maximum(box.middle.size, 0))
        error += np.where(touched, 1.01 * self.u * (size + error) + self.tiny, 0.0)
        error = np.where(touched, error, x.error)
        self._fits(size + error)
        self._fits(added)
        grid = np.where(touched, INEXACT, x.grid)
        return Rounded(error, box.middle.size, box.middle.width, grid)

    def _head(self, name: HeadId, head: Head, x: Rounded, box: Box) -> Rounded:
        """What a head averages, before its output matrix."""
        v = self._linear(x, head.value, box)
        spread = self._spread(name, head, x, box)
        if self.heads.single.get(name, False) and spread < 1:
            leak = self.heads.leak.get(name, 1.0)
            moved = min(math.tanh(spread / 4), leak * math.expm1(spread))
        else:
            moved = math.tanh(spread / 4)
        moved = min(1.0, moved + self.keys * self.tiny)
        summed = self.keys * v.size / np.where(v.grid > 0, v.grid, 1.0)
        equal = spread == 0 and self._is_uniform(name)
        whole = equal & (v.grid > 0) & (summed <= 2.0**self.form.sum_digits)
        count = min(self.keys, self.heads.near.get(name, self.keys))  # adding 0 rounds nothing
        rounding = np.where(whole, 2 * self.u_sum, 2 * _gamma(count + 4, self.u_sum))
        error = v.error + moved * (v.width + 2 * v.error)
        error = error + (rounding + 1.01 * self.u) * (v.size + v.error) + self.tiny
        constant = (v.width == 0) & (v.error == 0) & (v.size == 0)
        error = np.where(constant, 0.0, error)
        self._fits(self.keys * (v.size + v.error))  # the sum before it is divided
        return Rounded(error, v.size, v.width, np.full(len(v.size), INEXACT))

    def _is_uniform(self, name: HeadId) -> bool:
        return self.heads.leak.get(name) == 0.0

    def _spread(self, name: HeadId, head: Head, x: Rounded, box: Box) -> float:
        """How far two keys' scores (times β) can be off against each other, with the rounding of
        their weights; 0 for a head whose scores are exactly equal."""
        pairs = [(q, k) for q, k in zip(head.query, head.key, strict=True) if any(q) and any(k)]
        if not pairs:
            return 0.0
        beta = self.heads.beta.get(name, 1.0)
        if not math.isfinite(beta) or beta > self.form.largest:
            raise _Void
        q = self._linear(x, tuple(q for q, _ in pairs), box)
        k = self._linear(x, tuple(k for _, k in pairs), box)
        wide = len(pairs) > NARROW
        u_sum = 2.0**-WIDE_DIGITS if wide else self.u_sum
        tiny = 5e-324 if wide or self.form.sum_digits == WIDE_DIGITS else 2.0**-149
        q_hat, k_hat = q.size + q.error, k.size + k.error
        size = float(q_hat @ k_hat)
        self._fits(np.array([size, beta * size]))
        weights = (self.form.lost + 8) * self.u_sum + self.u
        steps = q.grid * k.grid
        if (steps > 0).all():
            unit = float(steps.min()) * (_last_bit(beta) if self.heads.exact else beta / 64)
            if beta * size / unit <= 2.0 ** (self.form.digits - 1):
                return 0.0 if self._is_uniform(name) else 2 * weights
        passed = float(q.error @ (k.width + 2 * k.error) + (q_hat) @ (2 * k.error))
        rounding = size * (_gamma(len(pairs) + 2, u_sum) + 1.01 * self.u)
        rounding += (len(pairs) + 1) * tiny
        return beta * (passed + 2 * rounding) + 2 * weights + 2 * self.tiny

    def _forward(self, forward: FeedForward, x: Rounded, box: LayerBoxes, after: Box) -> Rounded:
        hidden = self._linear(x, forward.in_weights, box.middle, forward.in_bias)
        assert box.hidden is not None
        active = np.maximum(box.hidden.high, 0.0)
        sizes = (np.minimum(active, hidden.size), np.minimum(active, hidden.width))
        hidden = Rounded(hidden.error, *sizes, hidden.grid)
        weights = np.abs(floats(forward.out_weights))
        bias = np.abs(floats((forward.out_bias,))[0])
        touched = weights.any(axis=1) | (bias > 0)
        added = weights @ (hidden.size + hidden.error) + bias
        terms = (weights > 0).sum(axis=1) + 3
        error = x.error + weights @ hidden.error + 1.01 * self.u * added
        error = error + terms * (1.01 * self.u_sum * added + self.tiny)
        error = error + 1.01 * self.u * (x.size + added) + self.tiny
        total = x.size + added
        grid = self._sums(x, forward, hidden, total)
        error = np.where(touched & (grid == 0), error, np.where(touched, 0.0, x.error))
        self._fits(total + error)
        return Rounded(error, after.size, after.width, np.where(touched, grid, x.grid))

    def _sums(self, x: Rounded, forward: FeedForward, hidden: Rounded, total: Floats) -> Floats:
        """Where residual and units are exact and so is their sum: its grid."""
        result = np.full(len(total), INEXACT)
        for c, row in enumerate(forward.out_weights):
            used = [u for u, w in enumerate(row) if w]
            steps = [x.grid[c] if x.size[c] or x.error[c] else 1e300]
            steps += [hidden.grid[u] * _dyadic(row[u], self.form.digits) for u in used]
            steps.append(_dyadic(forward.out_bias[c], self.form.digits))
            step = min(steps)
            if step > 0 and total[c] / step <= 2.0 ** (self.form.digits - 1):
                result[c] = step
        return result

    def _linear(
        self, x: Rounded, matrix: Matrix, box: Box, bias: Vector | None = None
    ) -> Rounded:
        """matrix · x + bias, summed and then rounded."""
        d = self.model.d_model
        weights = np.abs(floats(matrix, d))
        shift = floats((bias,))[0] if bias is not None else np.zeros(len(matrix))
        self._fits(weights)
        reals = box.through(floats(matrix, d), shift)
        x_hat = x.size + x.error
        size = weights @ x_hat + np.abs(shift)
        self._fits(size)
        terms = (weights > 0).sum(axis=1) + 2
        error = weights @ x.error + 1.01 * self.u * size
        error = error + terms * (1.01 * self.u_sum * size + self.tiny * (1 + float(x_hat.max(initial=0.0))))
        error = error + 1.01 * self.u * size
        grid = np.full(len(matrix), INEXACT)
        for r, row in enumerate(matrix):
            steps = [x.grid[c] * _dyadic(w, self.form.digits) for c, w in enumerate(row) if w]
            steps.append(1.0 if bias is None else _dyadic(bias[r], self.form.digits))
            step = min(steps)
            if step > 0 and size[r] / step <= 2.0 ** (self.form.digits - 1):
                grid[r], error[r] = step, 0.0
        return Rounded(error, reals.size, reals.width, grid)

    def _fits(self, sizes: Floats) -> None:
        if sizes.size and not float(np.max(sizes)) < self.form.largest / 4:
            raise _Void


def _gamma(operations: int, u: float) -> float:
    x = operations * u
    return x / (1 - x) if x < 0.5 else math.inf


def _feature_size(feature: Feature, n: int) -> float:
    match feature:
        case Named("i" | "r" | "n"):
            return float(n)
        case Named("i^2"):
            return float(n) ** 2
        case Named() | Mod():
            return 1.0
        case Table(entries):
            return max((abs(float(e)) for e in entries), default=0.0)


@lru_cache(maxsize=4096)
def _embedding_grid(model: AHAT, c: int) -> float:
    """A power of two that divides the coordinate's embedding everywhere; 0 if there is none."""
    tokens = [*model.embedding, *([model.bos_embedding] if model.bos_embedding else [])]
    steps = [_dyadic(v[c], 53) for v in tokens]
    for w, feature in zip(model.position_embedding[c], model.positions, strict=True):
        if w:
            steps.append(_dyadic(w, 53) * _feature_grid(feature))
    return min(steps)


def _feature_grid(feature: Feature) -> float:
    match feature:
        case Named(name):
            return 0.0 if "/" in name else 1.0
        case Mod():
            return 1.0
        case Table(entries):
            return min((_dyadic(e, 53) for e in entries), default=1.0)


@lru_cache(maxsize=65536)
def _dyadic(x: Fraction, digits: int) -> float:
    """The greatest power of two that divides x, if x has so few digits; 0 if not (1e300 for 0)."""
    if not x:
        return 1e300
    if x.denominator & (x.denominator - 1):
        return 0.0
    top = abs(x.numerator)
    low = top & -top
    if (top // low).bit_length() > digits:
        return 0.0
    step = Fraction(low, x.denominator)
    return float(step) if 2.0**-900 < step < 2.0**900 else 0.0


def _last_bit(beta: float) -> float:
    return _dyadic(Fraction(beta), 53)


def longest(fits: Callable[[int, int], bool]) -> int:
    """The greatest n to `FOREVER` such that every length 1 … n is in a stretch that fits."""
    done, step, growing = 0, 1, True
    while done < FOREVER:
        high = min(done + step, FOREVER)
        if fits(done + 1, high):
            done = high
            step = max(1, done // 16) if growing else step
        elif step == 1:
            return done
        else:
            step, growing = max(1, step // 4), False
    return done
