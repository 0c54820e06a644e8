"""Margins bounded by their own derivative, through the last layer.

Balls (`balls`) take an error through the last feed-forward part and the last norm as if all answers
stood in the worst direction at once. Here one difference of logits is followed back: to the last
norm, the output, the units, to the stream after attention. An error moves it by at most its length
times the derivative's. What bends is bounded entry by entry.

The last norm is taken as it is. With x the stream before it, δ its error, both centred, s and s'
the deviations before and after, y = x/s and A the answers' weights times the gain:

    A·(x + δ)/s' - A·x/s = (A·δ - (A·y)(s' - s)) / s',   s' - s = y·δ/D + ω.

From (s' - s)(s' + s) = (2 x·δ + |δ|²)/D follows |ω| <= 2 |δ|²/(D (s + s')), since |y|² <= D. So the
difference is at most (|(A - (A·y) y/D)·δ| + |A·y| |ω|) / s', and s' is at least s - |δ|/√D.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.trained.balls import Balls, Growths, largest_stretch, lengths
from softhat.trained.checkpoint import Checkpoint
from softhat.trained.points import Points, norm_rounding, own_error
from softhat.trained.rounding import Array, Rounding, lowered, raised

TOGETHER = 1 << 22
"""Numbers that differences of one batch may have at the units."""


@dataclass(frozen=True, slots=True)
class Differences:
    """Differences of logits: `sign` times the output `first`, minus the output `second`, if there
    is one (-1 where not), each of one of the rows."""

    row: NDArray[np.int64]
    sign: Array
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    def part(self, chosen: slice) -> Differences:
        return Differences(
            self.row[chosen], self.sign[chosen], self.first[chosen], self.second[chosen]
        )


class LastSteps:
    """What follows the last layer's attention."""

    def __init__(self, model: Checkpoint, growths: Growths, rounding: Rounding) -> None:
        self.model, self.growths, self.rounding = model, growths, rounding
        block = model.blocks[-1]
        self.inner = block.before_units.gain[:, None] * block.units.weight
        self.columns = raised(lengths(self.inner.T), 4)
        self.stretch = float(growths.of(block.units, block.before_units)[0, 0])
        self.sizes = float(raised(largest_stretch(np.abs(self.inner)), 4))
        self.read_out = model.last.gain[:, None] * model.answers.weight

    def least(self, x: Balls, asked: Differences) -> Array:
        """Lower bounds of differences of the model's logits; `x` is the stream after attention."""
        if self.model.activation.bend is None:
            return np.full(len(asked.row), -np.inf)
        return self.followed(self.rows(x), asked)

    def rows(self, x: Balls) -> StepErrors:
        """How far the errors of each row reach, step by step: generators through the derivative of
        each step, all else in balls. The activation must have a bend."""
        model, rounding, block = self.model, self.rounding, self.model.blocks[-1]
        activation, width = model.activation, model.width
        normed = x.normalised(block.before_units, model.epsilon, rounding)
        hidden = normed.affine(block.units, rounding)
        active = hidden.activated(activation, rounding)
        written = active.affine(block.output, rounding)
        after = x.added(written, rounding)
        first, second = normed.carried, active.carried
        assert activation.bend is not None and first is not None and second is not None
        assert second.slopes is not None and second.off is not None
        begun = _Deviation.of(x.centre, x.folded().radius[:, 0], model.epsilon, rounding)
        left = begun.left(first.scale)
        rest = x.radius[:, 0] / begun.smallest + left
        generators = np.zeros((*x.centre.shape[:1], 0, width))
        if x.generators is not None:
            generators = x.generators
        at_units = begun.along(generators) @ self.inner
        # The proof's own rounding of generators, relative to their absolute terms.
        own = own_error(4 * (width + len(self.columns)) + 64)
        long = lengths(generators).sum(-1)
        slack = own * 3 * long * self.sizes / begun.smallest
        bumps = np.abs(at_units).sum(1) + (hidden.radius[:, 0] + slack)[:, None]
        bumps = raised(bumps + rest[:, None] * self.columns, generators.shape[1] + 16)
        bumps = np.fmin(bumps, first.radius[:, None] * self.columns + hidden.radius)
        bends = np.minimum(activation.bend / 2 * bumps**2, 2 * activation.slope * bumps)
        whole = hidden.folded().radius
        computed = lengths(activation.error(np.abs(hidden.centre) + whole, rounding))
        units = activation.slope * hidden.radius[:, 0] + computed
        units = raised(units + second.off * first.radius * self.stretch, 16)
        far = after.radius[:, 0]
        rounded = active.rounded(block.output, width, rounding)[:, 0]
        rounded = rounded + rounding.gamma(1) * (lengths(after.centre) + far)
        generators = generators + (at_units * second.slopes[:, None]) @ block.output.weight
        output = float(self.growths.of(block.output)[0, 0])
        size = float(self.growths.sizes(block.output)[0])
        through = self.growths.through(block.before_units, block.units, second.slopes, block.output)
        ball = x.radius[:, 0] + rest * through + (units + lengths(bends)) * output + rounded
        ball = ball + own * long + slack * activation.slope * size
        ball = raised(ball, 64)
        far = np.fmin(far, raised(lengths(generators).sum(-1) + ball, generators.shape[1] + 16))
        last = Balls(after.centre, far[:, None], self.growths)
        last = last.normalised(model.last, model.epsilon, rounding)
        assert last.carried is not None
        return StepErrors(
            x, begun, _Deviation.of(after.centre, far, model.epsilon, rounding), first.radius, left,
            second.slopes, units, bends, rounded, generators, ball, last.carried.scale,
            last.carried.shift, last.radius[:, 0],
            last.rounded(model.answers, model.outputs, rounding),
            last.affine(model.answers, rounding).centre,
            lengths(bumps) * (1 + activation.slope) + computed,
        )  # fmt: skip

    def outputs(self, rows: StepErrors) -> Points:
        """All logits of the rows: what errors do to each, generators one by one."""
        ended, width = rows.ended, self.model.width
        aimed = self.read_out.T
        centred = aimed - aimed.mean(-1, keepdims=True)
        along = ended.normed @ aimed.T
        turned = (rows.generators * ended.normed[:, None]).sum(-1) / width
        moves = rows.generators @ centred.T - turned[..., None] * along[:, None]
        long = lengths(aimed)
        own = own_error(8 * width + 64)
        slack = own * lengths(rows.generators).sum(-1)[:, None] * (2 * long + np.abs(along))
        moved = np.abs(moves).sum(1) + rows.rest[:, None] * raised(lengths(centred), 8) + slack
        every = (slice(None), None)
        sums = np.abs(aimed.sum(-1)) + own * long * sqrt(width)
        weights = lengths(self.model.answers.weight.T)
        error = _after_norm(rows, every, moved, along, long, sums, weights)
        error = error + rows.answers + own * (np.abs(rows.logits) + long)
        return Points(rows.logits, raised(error, 4 * width + 64))

    def followed(self, rows: StepErrors, asked: Differences) -> Array:
        """Lower bounds of differences of the rows' logits, each followed back."""
        per = max(1, TOGETHER // len(self.columns))
        parts = [
            self._bounds(rows, asked.part(slice(at, at + per)))
            for at in range(0, len(asked.row), per)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _bounds(self, rows: StepErrors, asked: Differences) -> Array:
        model, width, row = self.model, self.model.width, asked.row
        block, paired = model.blocks[-1], asked.second >= 0
        weights = asked.sign[:, None] * model.answers.weight.T[asked.first]
        aimed = asked.sign[:, None] * self.read_out.T[asked.first]
        margin = asked.sign * rows.logits[row, asked.first]
        rounded = rows.answers[row, asked.first]
        size = np.abs(rows.logits[row, asked.first])
        weights = weights - np.where(paired[:, None], model.answers.weight.T[asked.second], 0.0)
        aimed = aimed - np.where(paired[:, None], self.read_out.T[asked.second], 0.0)
        margin = margin - np.where(paired, rows.logits[row, asked.second], 0.0)
        rounded = rounded + np.where(paired, rows.answers[row, asked.second], 0.0)
        size = size + np.where(paired, np.abs(rows.logits[row, asked.second]), 0.0)
        # The difference at the stream, at the units, and at what enters them.
        y = rows.ended.normed[row]
        along = (aimed * y).sum(-1)
        at_stream = aimed - aimed.mean(-1, keepdims=True) - (along / width)[:, None] * y
        at_units = at_stream @ block.output.weight.T
        at_input = (at_units * rows.slopes[row]) @ self.inner.T
        stream, units = lengths(at_stream), lengths(at_units)
        moves = rows.moved(row, at_stream, at_input, stream)
        moves = moves + rows.active[row] * units
        moves = moves + (np.abs(at_units) * rows.bends[row]).sum(-1) + rows.rounded[row] * stream
        # The proof's own rounding of the three vectors above, relative to their absolute terms.
        own = own_error(4 * (width + len(self.columns)) + 64)
        output = float(self.growths.sizes(block.output)[0])
        inside = rows.begun.radius + rows.ball * self.sizes * output * model.activation.slope
        inside = inside + rows.units * output + rows.rounded
        long = lengths(aimed)
        moves = moves + own * (2 * long + np.abs(along)) * inside[row]
        sums = np.abs(aimed.sum(-1)) + own * long * sqrt(width)
        error = _after_norm(rows, row, moves, along, long, sums, lengths(weights))
        error = error + rounded + own * (size + long)
        return np.asarray(margin - raised(error, 4 * (width + len(self.columns)) + 64))


def _after_norm(
    rows: StepErrors, at: Any, moves: Array, along: Array, long: Array, sums: Array, weights: Array
) -> Array:
    """What the last norm and the read-out make of differences A·x that errors move by `moves`:
    `along` are A·y, `long` and `sums` the lengths and sums of A, `weights` its length without the
    gain. Rounding of the read-out itself is left out."""
    ended, width = rows.ended, rows.ended.normed.shape[-1]
    smallest, scale = ended.smallest[at], rows.scale[at]
    bent = ended.radius[at] ** 2 / (width * smallest)  # s + s' is at least twice the smallest
    error = (moves + np.abs(along) * bent) / smallest
    error = error * (1 + scale) + scale * np.abs(along)
    error = error + rows.shift[at] * sums + ended.moved[at] * long * (1 + scale)
    return np.asarray(error + rows.gains[at] * weights)


@dataclass(frozen=True, slots=True)
class _Deviation:
    """A norm of rows whose errors lie in a radius."""

    radius: Array
    deviation: Array
    smallest: Array
    """The least deviation in the ball."""
    normed: Array
    """(rows, width): before the gain."""
    moved: Array
    """What rounding moves it, beside scaling and shifting it."""

    @staticmethod
    def of(centre: Array, radius: Array, epsilon: float, rounding: Rounding) -> _Deviation:
        width = centre.shape[-1]
        centred = centre - centre.mean(-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(-1) + epsilon)
        smallest = lowered(deviation, 3 * width + 8) - raised(radius / sqrt(width), 8)
        smallest = smallest - own_error(2 * width + 8) * lengths(centre)
        smallest = np.maximum(smallest, lowered(sqrt(epsilon), 4))
        moved = norm_rounding(np.abs(centre) + radius[:, None], smallest[:, None], rounding)[2]
        return _Deviation(radius, deviation, smallest, centred / deviation[:, None], lengths(moved))

    def along(self, generators: Array) -> Array:
        """The derivative of the norm, (P - y yᵀ/D)/s, times generators (rows, count, width)."""
        y = self.normed[:, None]
        inner = generators - generators.mean(-1, keepdims=True)
        inner = inner - (generators * y).mean(-1, keepdims=True) * y
        return np.asarray(inner / self.deviation[:, None, None])

    def left(self, scale: Array) -> Array:
        """How far the norm of an error is from its derivative's, (P - y yᵀ/D)/s.

        The second derivative of x/s is -(2 (x·δ) δ + |δ|² x)/(D s³) + 3 (x·δ)² x/(D² s⁵). With
        c = |x|²/(D s²) <= 1 and a, b the squares of δ along x and across, its part along x is at
        most √c (b + 3 (1 - c) a) <= b + 1.16 a, the one across 2 √(a b), over √D s². Together
        that is at most √(1.16² + 1) |δ|²/(√D s²); the remainder has half of it.
        """
        width = self.normed.shape[-1]
        bent = self.radius**2 / (sqrt(width) * self.smallest**2)
        left = bent + self.moved * (1 + scale) + scale * self.radius / self.smallest
        return np.asarray(raised(left, 32))


@dataclass(frozen=True, slots=True)
class StepErrors:
    """How far the errors of each row reach at every step."""

    stream: Balls
    """After attention."""
    begun: _Deviation
    """The norm before the units."""
    ended: _Deviation
    """The last one."""
    ball: Array
    """After the norm, before its gain."""
    left: Array
    """Of that, what is not the norm's derivative."""
    slopes: Array
    """(rows, units)."""
    active: Array
    """At the activation, from all that entered after the norm, and slopes that are off."""
    bends: Array
    """(rows, units): from what bends."""
    rounded: Array
    """Of the output and the sum."""
    generators: Array
    """(rows, count, width): at the stream before the last norm."""
    rest: Array
    """Beside them there."""
    scale: Array
    shift: Array
    gains: Array
    answers: Array
    """(rows, outputs): rounding of the logits."""
    logits: Array
    units: Array
    """How far the units can be off, all in all."""

    def moved(
        self, row: NDArray[np.int64], at_stream: Array, at_input: Array, stream: Array
    ) -> Array:
        """How far errors of the stream after attention move the differences: those in balls as they
        enter, or, through the norm's derivative, with their generators one by one."""
        entering = lengths(at_input)
        balls = self.begun.radius[row] * stream + self.ball[row] * entering
        y, width = self.begun.normed[row], at_stream.shape[-1]
        inner = at_input - at_input.mean(-1, keepdims=True)
        inner = inner - ((at_input * y).sum(-1) / width)[:, None] * y
        whole = at_stream + inner / self.begun.deviation[row][:, None]
        moved = self.stream.radius[row, 0] * lengths(whole)
        if self.stream.generators is not None:
            moved = moved + np.abs(np.einsum("pgd,pd->pg", self.stream.generators[row], whole)).sum(
                1
            )
        # The proof's own rounding of that vector, relative to its absolute terms.
        own = own_error(8 * width + 64)
        slack = own * self.begun.radius[row] * (stream + 3 * entering / self.begun.smallest[row])
        return np.asarray(np.fmin(balls, moved + slack + self.left[row] * entering))
