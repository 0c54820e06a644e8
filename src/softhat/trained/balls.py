"""Single activations with a ball of errors around each: the domain of the walk over all prefixes.

The model's float vector lies within a radius of the centre, in the Euclidean norm. A linear map
multiplies the radius by its largest singular value, where a box would grow by the sums of |W|: for
256 entries that is sixteen times less at every product. A part of a vector, such as a head's keys,
may have a radius of its own.

The error that enters a feed-forward part is not taken through its two products one by one. It is
*carried*: through the norm's gain g, the units W, the activation's slopes s and the output V it
becomes e diag(g) W diag(s) V. The squared Frobenius norm of that matrix is s·H s, where H is
(Wᵀ g² W)∘(V Vᵀ). H is computed once; the slopes are the prefix's own. What bends is a remainder of
second order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from softhat.trained.activations import Activation
from softhat.trained.checkpoint import Affine, Block, Checkpoint, LayerNorm
from softhat.trained.points import norm_rounding, own_error
from softhat.trained.rounding import OWN_UNIT, Array, Rounding, lowered, raised

T = TypeVar("T")
SQUARINGS = 5
"""Of a Gram matrix: its Frobenius norm then exceeds its largest eigenvalue by 8% of 256 entries."""
STEP = 1e-4
"""Slopes are differences over twice this much: off by at most half of it times the bend."""
OWN = Rounding(OWN_UNIT, 2.0**-1022, np.inf)
TINY = 1e-290
"""More than all that vanishes below the least number of float64 in a sum."""


def largest_stretch(matrix: Array) -> float:
    """An upper bound of the largest singular value: ‖A‖² = ‖AᵀA‖, again and again, and at last the
    Frobenius norm. The product of a matrix of norm 1 is off by at most γ in that norm."""
    a = matrix if matrix.shape[0] >= matrix.shape[1] else matrix.T
    scales = []
    for _ in range(SQUARINGS + 1):
        norm = float(raised(np.sqrt((a * a).sum()), a.size))
        if not 0 < norm < np.inf:
            return 0.0 if norm == 0 else np.inf
        scales.append((norm, len(a)))
        a = a / norm
        a = a.T @ a
    bound = float(raised(np.sqrt((a * a).sum()), a.size))
    for norm, terms in reversed(scales):
        # Division and product: entry by entry a relative error, of a matrix of norm at most 1.
        bound = float(raised(norm * sqrt(bound + own_error(terms + 8) + TINY), 8))
    return bound


def lengths(x: Array) -> Array:
    """Upper bounds of the norms of vectors."""
    return np.asarray(raised(np.sqrt((x * x).sum(-1)), x.shape[-1] + 4))


class _AfterNorm(NamedTuple):
    """What a step makes of a norm's shift and gain."""

    shift: Array
    """With the bias."""
    slack: Array
    """(parts,): how far its rounding moves it."""
    gain: Array
    """(parts,): how long the image of the gain is."""
    column: float
    """The longest column of diag(gain) W."""


class Way:
    """A matrix W (given as rows) and how long e W can be, for vectors e."""

    def __init__(self, matrix: Array) -> None:
        self.gram = matrix @ matrix.T
        sizes = np.abs(matrix) @ np.abs(matrix).T
        self.slack = own_error(2 * sum(matrix.shape) + 32) * float(lengths(sizes.ravel()))
        self.stretch = float(raised(largest_stretch(matrix), 4))

    def length(self, e: Array) -> Array:
        """(…,): upper bounds of ‖e W‖."""
        squared = ((e @ self.gram) * e).sum(-1) + self.slack * (e * e).sum(-1)
        return np.asarray(raised(np.sqrt(np.maximum(squared, 0.0)), 4 * e.shape[-1] + 8))


class HeadWays(NamedTuple):
    """The ways of errors through one head. What entered the norm is a ball e: it becomes e W for
    queries, keys and values, of which products e W·z = e·(W z) are taken."""

    query: Way
    key: Way
    value: Way
    output: Way
    """From the head's read to the stream."""
    both: float
    """From what entered the norm through the values and the projection."""


class Growths:
    """How far the weights of one model stretch errors, each computed once."""

    def __init__(self, model: Checkpoint) -> None:
        self.parts: dict[int, tuple[int, int]] = {id(model.answers): (1, model.outputs)}
        """Into how many parts a step's input and output fall."""
        for block in model.blocks:
            self.parts[id(block.attention)] = (1, 3 * model.heads)
        self._known: dict[tuple[object, ...], Any] = {}
        self.model = model  # the ids above stand for its steps

    def _once(self, key: tuple[object, ...], computed: Callable[[], T]) -> T:
        """What was computed before under this key."""
        if key not in self._known:
            self._known[key] = computed()
        value: T = self._known[key]
        return value

    def of(self, step: Affine, norm: LayerNorm | None = None) -> Array:
        """(input parts, output parts): how far a product stretches, after the gain of a norm."""
        return self._table("plain", step, norm)

    def sizes(self, step: Affine) -> Array:
        """(output parts,): ‖|x| |W|‖ is at most this times ‖x‖: what rounding is relative to."""
        return self._table("sizes", step, None)[0]

    def moves(self, step: Affine) -> Array:
        """(output parts,): the same of what the weights may move."""
        return self._table("moved", step, None)[0]

    def _table(self, kind: str, step: Affine, norm: LayerNorm | None) -> Array:
        def table() -> Array:
            rows, columns = self.parts.get(id(step), (1, 1))
            weight = step.weight
            if kind == "sizes":
                rows, weight = 1, np.abs(weight)
            elif kind == "moved":
                assert step.moved is not None
                rows, weight = 1, step.moved.weight
            elif norm is not None:
                weight = norm.gain[:, None] * weight
            stretches = [
                [largest_stretch(part) for part in np.split(block, columns, axis=1)]
                for block in np.split(weight, rows, axis=0)
            ]
            return raised(np.array(stretches), 4)  # the gain's product is rounded

        return self._once((kind, id(step), id(norm)), table)

    def head(self, block: Block, head: int) -> HeadWays:
        def ways() -> HeadWays:
            size = self.model.width // self.model.heads
            gain = block.before_attention.gain[:, None]
            query, keys, value = (
                (gain * block.attention.weight)[:, at * self.model.width :][:, head * size :][
                    :, :size
                ]
                for at in range(3)
            )
            output = block.projection.weight[head * size :][:size]
            # The gain's product is rounded once, that of both matrices like a sum.
            both = largest_stretch(value @ output) + own_error(size + 8) * (
                largest_stretch(np.abs(value)) * largest_stretch(np.abs(output))
            )
            return HeadWays(
                Way(query.T), Way(keys.T), Way(value.T), Way(output), float(raised(both, 8))
            )

        return self._once(("head", id(block), head), ways)

    def constants(self, step: Affine, norm: LayerNorm) -> _AfterNorm:
        def after_norm() -> _AfterNorm:
            parts, sizes = self.parts.get(id(step), (1, 1))[1], self.sizes(step)
            own = own_error(2 * len(step.weight) + 16)
            gain = lengths(_split(norm.gain @ step.weight, parts))
            slack = lengths(norm.shift) * sizes + lengths(_split(step.bias, parts))
            columns = lengths((norm.gain[:, None] * step.weight).T)
            return _AfterNorm(
                norm.shift @ step.weight + step.bias, raised(own * slack, 16),
                raised(gain + own * lengths(norm.gain) * sizes, 16),
                float(raised(columns.max(), 4)),
            )  # fmt: skip

        return self._once(("constants", id(step), id(norm)), after_norm)

    def through(self, norm: LayerNorm, units: Affine, slopes: Array, output: Affine) -> Array:
        """(…,): upper bounds of ‖diag(g) W diag(s) V‖ for slopes s (…, units)."""

        def square_and_size() -> tuple[Array, float]:
            inner = norm.gain[:, None] * units.weight
            sizes = (np.abs(inner).T @ np.abs(inner)) * (
                np.abs(output.weight) @ np.abs(output.weight).T
            )
            square = (inner.T @ inner) * (output.weight @ output.weight.T)
            return square, float(raised(np.sqrt((sizes**2).sum()), sizes.size))

        key = ("through", id(norm), id(units), id(output))
        square, size = self._once(key, square_and_size)
        exact = ((slopes @ square) * slopes).sum(-1)
        terms = 2 * len(square) + 2 * len(norm.gain) + 2 * output.weight.shape[1] + 32
        off = own_error(terms) * size * (slopes**2).sum(-1)
        return np.asarray(raised(np.sqrt(np.maximum(exact, 0.0) + raised(off, terms)), 8))


@dataclass(frozen=True, slots=True)
class Carried:
    """An error that entered a norm: a ball of this radius after it, before the gain; and how far it
    was scaled and shifted as a whole. `units` and `slopes` are what it has gone through since."""

    radius: Array
    scale: Array
    shift: Array
    norm: LayerNorm
    units: Affine | None = None
    slopes: Array | None = None
    off: Array | None = None
    """How far the slopes can be off."""


@dataclass(frozen=True, slots=True)
class Balls:
    """(…, width) vectors, and (…, parts) radii: of each part of as many entries. Beside the ball
    an error may have `generators` (…, count, width), each times a number in [-1, 1]."""

    centre: Array
    radius: Array
    growths: Growths
    carried: Carried | None = None
    generators: Array | None = None

    @property
    def length(self) -> Array:
        """How long the model's vector can be."""
        return np.asarray(lengths(self.centre) + lengths(self.folded().radius))

    @property
    def entries(self) -> Array:
        """How far each entry can be off: no further than its part."""
        repeats = self.centre.shape[-1] // self.radius.shape[-1]
        return np.repeat(self.folded().radius, repeats, -1)

    def chosen(self, rows: NDArray[np.int64]) -> Balls:
        """Some of the vectors, with nothing carried."""
        if self.carried is not None:
            return self.folded().chosen(rows)
        generators = None if self.generators is None else self.generators[rows]
        return Balls(self.centre[rows], self.radius[rows], self.growths, None, generators)

    def folded(self) -> Balls:
        """The same in balls: no generators, and no error that is carried."""
        carried = self.carried
        if self.generators is not None:
            more = lengths(self.generators).sum(-1)[..., None]
            return Balls(self.centre, raised(self.radius + more, 64), self.growths)
        if carried is None:
            return self
        if carried.units is None:
            gain = np.abs(carried.norm.gain)
            before = (self.centre - carried.norm.shift)[..., :]
            more = carried.radius * gain.max() + carried.scale * lengths(before)
            more = (more + carried.shift * lengths(gain))[..., None]
        else:
            growth = self.growths.of(carried.units, carried.norm)[0]
            more = carried.radius[..., None] * growth
        radius = raised(self.radius + raised(more, 8), 8)
        return Balls(self.centre, radius, self.growths)

    def affine(self, step: Affine, rounding: Rounding) -> Balls:
        """A product with a bias."""
        growths, carried = self.growths, self.carried
        centre = self.centre @ step.weight + step.bias
        radius = self.radius @ growths.of(step)
        radius = radius + self.rounded(step, centre.shape[-1], rounding)
        if carried is None:
            return Balls(centre, raised(radius, 64), growths)
        if carried.units is None:
            after = growths.constants(step, carried.norm)
            # The part of the result that scales with the norm's: without shift and bias.
            scaled = lengths(_split(centre - after.shift, radius.shape[-1])) + after.slack
            own = own_error(2 * len(step.weight) + 16)
            scaled = scaled + own * self.length[..., None] * growths.sizes(step)
            radius = radius + carried.scale[..., None] * scaled
            radius = radius + carried.shift[..., None] * after.gain
            onward = replace(carried, units=step)
            return Balls(centre, raised(radius, 64), growths, onward)
        assert carried.slopes is not None and carried.off is not None
        whole = growths.of(carried.units, carried.norm)[0, 0] * growths.of(step)[0, 0]
        through = growths.through(carried.norm, carried.units, carried.slopes, step)
        steepest = np.abs(carried.slopes).max(-1)
        through = np.minimum(through, steepest * whole) + carried.off * whole
        radius = radius + (carried.radius * through)[..., None]
        return Balls(centre, raised(radius, 64), growths)

    def rounded(self, step: Affine, width: int, rounding: Rounding) -> Array:
        """(…, parts): how far rounding moves a product, and the weights where they may move."""
        terms, growths = step.weight.shape[0], self.growths
        parts = growths.parts.get(id(step), (1, 1))[1]
        length = self.length[..., None]
        gamma = rounding.gamma(terms + 2)
        bias = lengths(_split(step.bias, parts))
        whole = length * growths.sizes(step) + bias
        error = gamma * whole + terms * sqrt(width / parts) * rounding.least
        if step.moved is not None:
            moved = length * growths.moves(step) + lengths(_split(step.moved.bias, parts))
            error = error + (1 + gamma) * moved
        return np.asarray(raised(error, 16) + rounding.overflow(whole + error))

    def added(self, other: Balls, rounding: Rounding) -> Balls:
        """A sum, rounded once."""
        centre = self.centre + other.centre
        radius = self.folded().radius + other.folded().radius
        size = lengths(centre)[..., None] + radius
        radius = radius + rounding.gamma(1) * size + rounding.overflow(size)
        return Balls(centre, raised(radius, 8), self.growths)

    def activated(self, activation: Activation, rounding: Rounding) -> Balls:
        """The activation: its slope at the centre, and what bends, at most bend/2 |δ|² an entry.
        Where that is more than the slope itself could give, the error is folded."""
        centre = activation.function(self.centre)
        whole = self.folded().radius[..., 0]
        computed = activation.error(np.abs(self.centre) + whole[..., None], rounding)
        error = lengths(computed)
        folded = raised(activation.slope * whole + error, 8)[..., None]
        carried = self.carried
        if carried is None or carried.units is None or activation.bend is None:
            return Balls(centre, folded, self.growths)
        column = self.growths.constants(carried.units, carried.norm).column
        largest = raised(self.radius[..., 0] + carried.radius * column, 4)
        bent = activation.bend / 2 * whole * largest
        radius = raised(activation.slope * self.radius[..., 0] + bent + error, 8)[..., None]
        straight = activation.bend / 2 * largest < activation.slope  # false for NaN
        size = np.abs(self.centre) + STEP
        slopes = activation.function(self.centre + STEP) - activation.function(self.centre - STEP)
        off = activation.bend * STEP / 2 + 8 * OWN_UNIT * (1 + activation.slope)
        off = off + activation.slope * 4 * OWN_UNIT * size.max(-1) / STEP
        off = off + activation.error(size, OWN).max(-1) / STEP
        onward = replace(
            carried, radius=np.where(straight, carried.radius, 0.0), slopes=slopes / (2 * STEP),
            off=raised(off, 16),
        )  # fmt: skip
        radius = np.where(straight[..., None], radius, folded)
        return Balls(centre, radius, self.growths, onward)

    def normalised(self, norm: LayerNorm, epsilon: float, rounding: Rounding) -> Balls:
        """Layer normalisation. Its derivative at x is (P - y yᵀ/D)/s, of norm at most 1/s, and s
        moves by at most |δ|/√D on the way."""
        width = self.centre.shape[-1]
        radius = self.folded().radius[..., 0]
        centred = self.centre - self.centre.mean(-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(-1) + epsilon)
        smallest = lowered(deviation, 3 * width + 8) - raised(radius / sqrt(width), 8)
        smallest = smallest - own_error(2 * width + 8) * lengths(self.centre)  # of the centring
        smallest = np.maximum(smallest, lowered(sqrt(epsilon), 4))
        y = centred / deviation[..., None]
        scale, shift, moved = norm_rounding(
            np.abs(self.centre) + radius[..., None], smallest[..., None], rounding
        )
        scale = scale[..., 0]
        shift = raised(shift[..., 0] * (1 + scale), 4)
        ball = raised((radius / smallest + lengths(moved)) * (1 + scale), 8)
        size = np.abs(y) * (1 + scale[..., None]) + (shift + ball)[..., None]
        off = lengths(norm.error(raised(size, 8), rounding))[..., None]
        carried = Carried(ball, scale, shift, norm)
        return Balls(y * norm.gain + norm.shift, off, self.growths, carried)


def _split(x: Array, parts: int) -> Array:
    return x.reshape(*x.shape[:-1], parts, x.shape[-1] // parts)
