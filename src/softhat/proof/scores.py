"""Rounding errors of scores: projections, products, sums in any order.

**Sums.** Terms that are multiples of a power of two g add up without error while the positive
and the negative ones each stay within 2^p·g. A term that is not costs at most the spacing G of
the largest partial sum: on its way through the additions it is rounded to ever coarser powers of
two, each at most half of that spacing off, and 1/2 + 1/4 + … of G is at most G; its own product
is the first of these roundings. So F such terms cost at most F·G.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp, inf

from softhat.proof.arithmetic import Format
from softhat.proof.kinds import Scores, Side, grid_of
from softhat.transformer.weights import Attention

CARE = 1 + 1e-9
"""For the roundings of this computation itself."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why nothing is proved at this length."""

    reason: str


@dataclass(frozen=True, slots=True)
class Row:
    """A product of scores over all pairs of positions, in units of 1/(C·P) of the logit."""

    low: float
    high: float
    grid: float
    error: float
    """Of the operands: weights and projections that storage rounds."""


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of rows, in logits: its size, the grid of exact scores, and the error of a score."""

    size: float
    grid: float
    error: float


def scale(attention: Attention, n: int) -> float:
    """P, the power of two that positions are divided by."""
    return float(1 << (n + 1).bit_length()) if attention == "temperature" else 1.0


def rows_of(scores: Scores, n: int, form: Format) -> list[Row] | Failure:
    rows = []
    for query, key in scores.rows:
        row = row_of(query, key, n, scale(scores.attention, n), form)
        if isinstance(row, Failure):
            return row
        rows.append(row)
    return rows


def row_of(query: Side, key: Side, n: int, scaled: float, form: Format) -> Row | Failure:
    q, k = _stored(query, n, scaled, form), _stored(key, n, scaled, form)
    if isinstance(q, Failure):
        return q
    if isinstance(k, Failure):
        return k
    (q_low, q_high, q_grid), (k_low, k_high, k_grid) = (
        side_of(query, n, scaled),
        side_of(key, n, scaled),
    )
    products = [x * y * scaled for x in (q_low, q_high) for y in (k_low, k_high)]
    error = (q[0] * k[1] + q[1] * k[0] + q[1] * k[1]) * scaled
    return Row(min(*products, 0.0), max(*products, 0.0), q_grid * k_grid * scaled, error)


def _stored(side: Side, n: int, scaled: float, form: Format) -> tuple[float, float] | Failure:
    """(largest size, error) of a projection as stored."""
    low, high, grid = side_of(side, n, scaled)
    size = max(-low, high)
    error = 0.0
    for entry in side:
        loaded = form.load(entry.weight)
        if abs(loaded) > form.largest:
            return Failure(f"the weight {entry.weight:g} overflows")
        reach = n if entry.base in ("i", "r") else 1
        error += abs(loaded - entry.weight) * reach * scaled**entry.power
    if size + error > form.largest:
        return Failure("positions times weights overflow")
    if not form.holds(size, grid):
        error += (len(side) + 1) * 2.0**-form.digits * size + form.smallest
    return size, error * CARE


def side_of(side: Side, n: int, scaled: float) -> tuple[float, float, float]:
    """Least and largest value, and the power of two that all values are multiples of."""
    low, high = inf, -inf
    for i, r, ordinary in ((1, 1, 1), (1, n, 1), (n, 1, 1), (0, 0, 0)):
        least = most = 0.0
        for entry in side:
            weight = entry.weight * scaled**entry.power
            match entry.base:
                case "1":
                    least, most = least + weight, most + weight
                case "ordinary":
                    least, most = least + weight * ordinary, most + weight * ordinary
                case "i":
                    least, most = least + weight * i, most + weight * i
                case "r":
                    least, most = least + weight * r, most + weight * r
                case "(-1)^i":
                    least, most = least - abs(weight), most + abs(weight)
                case _:
                    least, most = least + min(weight, 0.0), most + max(weight, 0.0)
        low, high = min(low, least), max(high, most)
    grid = min(grid_of(entry.weight) * scaled**entry.power for entry in side)
    return low, high, grid


def total_of(rows: list[Row], sharpness: float, form: Format) -> Total:
    size = max(sum(row.high for row in rows), -sum(row.low for row in rows))
    spacing = form.grid(size)
    error = sum(row.error for row in rows)
    error += spacing * sum(row.grid < spacing for row in rows)
    grid = min(row.grid for row in rows)
    return Total(size * sharpness, grid * sharpness, error * sharpness * CARE)


def rounded(total: Total, sharpness: float, size: float, form: Format) -> float:
    """The error of a stored score of at most `size`: multiplied by β, rounded to storage."""
    error = total.error
    if not power_of_two(sharpness):
        return (error + size * (3 * form.u_sum + 2 * form.u)) * CARE
    if form.u and (error or not form.holds(size, total.grid)):
        error += form.u * (size + error)
    return error * CARE


def power_of_two(x: float) -> bool:
    return x > 0 and frexp(x)[0] == 0.5
