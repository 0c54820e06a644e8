"""How far a head's output can be from the exact bit at length n, in a number format.

What is modelled is the dense runtime: projections rounded to storage; scores summed in the
accumulating format *in any order* (fused or not), multiplied by the inverse temperature and
rounded; weights exp(score - maximum), rounded; sums of weights and of weighted values, one
division, rounded. Bounds grow with n, so a search over n finds the largest length.

**Sums.** Terms that are multiples of a power of two g add up without error while the positive
and the negative ones each stay within 2^p·g. A term that is not costs at most the spacing G of
the largest partial sum: on its way through the additions it is rounded to ever coarser powers of
two, each at most half of that spacing off, and 1/2 + 1/4 + … of G is at most G; its own product
is the first of these roundings. So F such terms cost at most F·G.

**Weights.** The winner's is exp(0) = 1. Losers are off by at most (1 + 8u_a)(1 + u), or are
subnormal and at most doubled, or vanish, which only helps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import exp, expm1, floor, frexp, inf

from softhat.certificate.formats import Format
from softhat.certificate.heads import (
    Average,
    Kind,
    Latest,
    Previous,
    Scores,
    Side,
    Sign,
    grid_of,
    one_sided,
    slope_of,
)
from softhat.transformer.weights import Attention

_NEAR = "counts next to the threshold are not told from it"
_COARSE = "scores of neighbouring positions are rounded together"
CARE = 1 + 1e-9
"""For the roundings of this computation itself."""


@dataclass(frozen=True, slots=True)
class Bound:
    """`low`: how far below 1 a true output can be; `high`: how far above 0 a false one;
    `over`: how far beyond 1 any output can be. Outputs are never negative."""

    low: float
    high: float
    over: float


@dataclass(frozen=True, slots=True)
class Failure:
    """Why nothing is proved at this length."""

    reason: str


@lru_cache(maxsize=1 << 16)
def bound(kind: Kind, n: int, form: Format) -> Bound | Failure:
    """The error of a head's output for every word of length at most n."""
    match kind:
        case Latest():
            return _latest(kind, n, form)
        case Previous():
            return _previous(kind, n, form)
        case Average():
            return _average(kind, n, form)
        case Sign():
            return _sign(kind, n, form)


def scale(attention: Attention, n: int) -> float:
    """P, the power of two that positions are divided by."""
    return float(1 << (n + 1).bit_length()) if attention == "temperature" else 1.0


# Rows of scores


@dataclass(frozen=True, slots=True)
class _Row:
    """A product of scores over all pairs of positions, in units of 1/(C·P) of the logit."""

    low: float
    high: float
    grid: float
    error: float
    """Of the operands: weights and projections that storage rounds."""


def _side(side: Side, n: int, scaled: float) -> tuple[float, float, float]:
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


def _stored(side: Side, n: int, scaled: float, form: Format) -> tuple[float, float] | Failure:
    """(largest size, error) of a projection as stored."""
    low, high, grid = _side(side, n, scaled)
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


def _row(query: Side, key: Side, n: int, scaled: float, form: Format) -> _Row | Failure:
    q, k = _stored(query, n, scaled, form), _stored(key, n, scaled, form)
    if isinstance(q, Failure):
        return q
    if isinstance(k, Failure):
        return k
    (q_low, q_high, q_grid), (k_low, k_high, k_grid) = (
        _side(query, n, scaled),
        _side(key, n, scaled),
    )
    products = [x * y * scaled for x in (q_low, q_high) for y in (k_low, k_high)]
    error = (q[0] * k[1] + q[1] * k[0] + q[1] * k[1]) * scaled
    return _Row(min(*products, 0.0), max(*products, 0.0), q_grid * k_grid * scaled, error)


@dataclass(frozen=True, slots=True)
class _Total:
    """A sum of rows, in logits: its size, the grid of exact scores, and the error of a score."""

    size: float
    grid: float
    error: float


def _total(rows: list[_Row], sharpness: float, form: Format) -> _Total:
    size = max(sum(row.high for row in rows), -sum(row.low for row in rows))
    spacing = form.grid(size)
    error = sum(row.error for row in rows)
    error += spacing * sum(row.grid < spacing for row in rows)
    grid = min(row.grid for row in rows)
    return _Total(size * sharpness, grid * sharpness, error * sharpness * CARE)


def _rows(scores: Scores, n: int, form: Format) -> list[_Row] | Failure:
    rows = []
    for query, key in scores.rows:
        row = _row(query, key, n, scale(scores.attention, n), form)
        if isinstance(row, Failure):
            return row
        rows.append(row)
    return rows


def _rounded(total: _Total, sharpness: float, size: float, form: Format) -> float:
    """The error of a stored score of at most `size`: multiplied by β, rounded to storage."""
    error = total.error
    if not _power_of_two(sharpness):
        return (error + size * (3 * form.u_sum + 2 * form.u)) * CARE
    if form.u and (error or not form.holds(size, total.grid)):
        error += form.u * (size + error)
    return error * CARE


# Softmax


def _softmax(low: float, high: float, terms: float, tail: float, form: Format) -> Bound:
    """From the weight of losers relative to the winner's (`low`: the answer is yes; `high`: no),
    at most `terms` weights that do not vanish, and the weight of subnormal losers."""
    inflated = (1 + 8 * form.u_sum) * (1 + form.u) * CARE
    low, high = low * inflated + tail, high * inflated + tail
    sums = (2 * terms + 2) * form.u_sum * CARE
    low = low / (1 + low) + sums
    if form.u:  # from 1/2 to 1 storage has the spacing u; what exceeds 1 by less is stored as 1
        low = floor(low / form.u + 0.5) * form.u
    high = high / (1 + high) * (1 + sums) * (1 + form.u) * CARE
    return Bound(low, high, sums if sums >= form.u else 0.0)


EXACT = Bound(0.0, 0.0, 0.0)


def _latest(kind: Latest, n: int, form: Format) -> Bound | Failure:
    """Gaps are B, 2B, …, and those of ruled-out keys at least as large: A·i >= 2B·i."""
    rows = _rows(kind.scores, n, form)
    if isinstance(rows, Failure):
        return rows
    keys = [key for _, key in kind.scores.rows]
    ruling = [any(e.base in ("bit", "ordinary") for e in key) for key in keys]
    kept = [row for row, rules in zip(rows, ruling, strict=True) if not rules]
    sharpness = kind.scores.sharpness
    total = _total(kept, sharpness, form)
    if total.size > form.largest:
        return Failure("scores overflow")
    error = _rounded(total, sharpness, total.size, form)
    # A ruled-out key's score is off by a share of its own size, (A + 2B)·i at most.
    share = (len(rows) + 3) * 2 * form.u_sum + 4 * 2.0**-form.digits
    ruled = share * (kind.penalty + 2 * kind.slope) / kind.slope if any(ruling) else 0.0
    if kind.scores.attention == "hard":
        safe = 2 * error < kind.slope and ruled + 2 * error / kind.slope < 1
        return EXACT if safe else Failure(_COARSE)
    exponent = 2 * error + kind.slope * ruled
    if exponent > kind.slope * 0.9:
        return Failure(_COARSE)
    losers = exp(exponent) * _geometric(kind.slope)
    terms = min(n + 2.0, 4 + 2 * (form.visible + exponent) / kind.slope)
    tail = min(losers, 2 * form.normal / -expm1(-kind.slope))
    return _checked(_softmax(losers, losers, terms, tail, form))


def _previous(kind: Previous, n: int, form: Format) -> Bound | Failure:
    """Gaps are 2B, 4B, … for the other keys of i-1's parity, 2·A1 - B, + 2B, … for i's own."""
    rows = _rows(kind.scores, n, form)
    if isinstance(rows, Failure):
        return rows
    sharpness = kind.scores.sharpness
    total = _total(rows, sharpness, form)
    if total.size > form.largest:
        return Failure("scores overflow")
    winner = abs(kind.alternation - kind.offset - kind.slope)
    # Scores beyond what storage holds exactly are losers by nearly that much.
    exact = 2.0**form.digits * total.grid
    far = 0.0
    size = total.size
    if form.u and size > exact and not total.error and _power_of_two(sharpness):
        far = (n + 2) * exp(-min(700.0, exact - winner))
        size = exact
    error = _rounded(total, sharpness, size, form)
    other, own = 2 * kind.slope, 2 * kind.alternation - kind.slope
    if 2 * error > 0.9 * min(other, own):
        return Failure(_COARSE)
    if kind.scores.attention == "hard":
        return EXACT
    spread = -expm1(-2 * kind.slope)
    losers = exp(2 * error) * (exp(-other) + exp(-own)) / spread + far
    terms = min(n + 2.0, 4 + (form.visible + 2 * error) / kind.slope)
    tail = min(losers, 2 * form.normal / spread)
    return _checked(_softmax(losers, losers, terms, tail, form))


def _average(kind: Average, n: int, form: Format) -> Bound | Failure:
    """Sums of integers in units of `grid` are exact; the mean is rounded at the division (and
    to storage): `sign` accounts for that. Here: that the sums are exact."""
    size = max(-kind.low, kind.high)
    if any(form.load(weight) != weight for weight in kind.weights):
        return Failure("a weight of the values is not representable")
    if kind.weights and not form.holds(size, kind.grid):
        return Failure("values are not representable")
    if kind.weights and n * size > 2.0**form.sum_digits * kind.grid:
        return Failure("sums of values are not exact")
    if n + 2 > 2.0**form.sum_digits:
        return Failure("the number of positions is not exact")
    return EXACT


def _sign(kind: Sign, n: int, form: Format) -> Bound | Failure:
    """At j = i the logit is at least `up` above 0 or `down` below; it falls with the distance."""
    scores = kind.scores
    rows: list[_Row] = []
    means = 0
    absolute = 0.0
    for query, key in scores.rows:
        if any(entry.base == "mean" for entry in query):
            found = _mean_error(query, key, n, scores, form)
            if isinstance(found, Failure):
                return found
            absolute += found
            means += 1
            continue
        row = _row(query, key, n, scale(scores.attention, n), form)
        if isinstance(row, Failure):
            return row
        rows.append(row)
    rest = [kind.at_i * i + kind.at_r * r + kind.constant for i, r in ((1, 1), (1, n), (n, 1))]
    most = sum(n * max(0.0, mean.high) for mean in kind.means) + max(rest)
    least = sum(n * min(0.0, mean.low) for mean in kind.means) + min(rest)
    if most + kind.steep * n * kind.seen_by_sink > form.largest:
        return Failure("scores overflow")
    yes = kind.up if least <= 0 else max(kind.up, least)
    no = kind.down if most >= 0 else max(kind.down, -most)
    if one_sided(kind):
        no = min(no, -kind.constant)
    slope = slope_of(kind) * (1 - 3 * form.u_sum - form.u)

    def left(logit: float) -> tuple[float, float]:
        """What errors leave of a logit of at least this size: at j = i, and at other j."""
        found = []
        for size, coarser in (
            (logit, 1),
            (logit + kind.unit, 2),
        ):  # the next binade at the earliest
            here, there = _score_errors(
                kind, n, form, rows, means, (min(rest), max(rest)), size, coarser
            )
            kept = size * (1 - 3 * form.u_sum - form.u) - absolute
            found.append((kept - here * CARE, kept - there * CARE))
        return min(here for here, _ in found), min(there for _, there in found)

    far = inf
    low = high = 0.0
    if most >= 0:
        here, there = left(yes)
        if here <= 0:
            return Failure(_NEAR)
        low, far = exp(-here), min(far, there - yes)
    if least <= 0:
        here, there = left(no)
        if here <= 0 or there + slope <= 0:
            return Failure(_NEAR)
        high = exp(-here) + exp(-there - slope) / -expm1(-slope)
        far = min(far, there - no)
    if scores.attention == "hard":
        return EXACT
    terms = min(n + 2.0, 4 + (form.visible - 4 * far) / slope)
    tail = 2 * form.normal / -expm1(-slope)
    return _checked(_softmax(low, high, terms, tail, form))


def _mean_error(query: Side, key: Side, n: int, scores: Scores, form: Format) -> float | Failure:
    """The absolute error that a mean's row adds to a logit: of means below the normal numbers."""
    scaled = scale(scores.attention, n)
    low, high, grid = _side(key, n, scaled)
    (entry,) = query
    if not form.holds(max(-low, high), grid) or any(form.load(e.weight) != e.weight for e in key):
        return Failure("positions are not representable")
    if not _power_of_two(abs(entry.weight)) or abs(entry.weight) > form.largest:
        return Failure("an average is multiplied by a weight that is not a power of two")
    return abs(entry.weight) * form.smallest * high * scaled * scores.sharpness


def _score_errors(
    kind: Sign,
    n: int,
    form: Format,
    rows: list[_Row],
    means: int,
    rest: tuple[float, float],
    logit: float,
    coarser: int,
) -> tuple[float, float]:
    """The error of a comparison's score where the logit is `logit`: at j = i, and at other j.

    Past and future averages share the n positions. At j = i the averages' terms and the rest add
    up to ± the logit, which bounds the positive and the negative terms. There the last addition
    has a small result and is nearly exact: of m terms, m - 2 additions can be off, and no more
    than there are inexact terms (`coarse`) at each spacing. `coarser` multiplies the spacing.
    """
    sizes = {over: 0.0 for over in ("past", "future", "total")}
    for mean in kind.means:
        sizes[mean.over] += max(-mean.low, mean.high, 0.0)
    near = (n + 1) * (max(sizes["past"], sizes["future"]) + sizes["total"])
    far = (n + 1) * sum(sizes.values())
    if len(kind.means) == 1 and kind.means[0].over in ("total", kind.direction):
        near = far = min(near, logit + max(-rest[0], rest[1]))
    sharpness = kind.scores.sharpness
    above, below = sum(row.high for row in rows), -sum(row.low for row in rows)
    operands = sum(row.error for row in rows)
    relative = (form.u_sum + form.u) * (1 + form.u_sum + form.u)
    added = max(0.0, min(near, (near - rest[0] + logit) / 2)) / sharpness
    taken = max(0.0, min(near, (near + rest[1] + logit) / 2)) / sharpness
    spacing = coarser * form.grid(max(above + added, below + taken))
    coarse = means + sum(row.grid < spacing for row in rows)
    additions = sum(
        spacing / 2 / 2 ** (at // coarse) for at in range(max(0, means + len(rows) - 2)) if coarse
    )
    own = [min(near, (n + 1) * max(-mean.low, mean.high, 0.0)) for mean in kind.means]
    products = sum(form.grid(size / sharpness) for size in [*own, 2 * logit]) / 2
    here = sharpness * (operands + additions + products) + near * relative
    spacing = coarser * form.grid(max(above, below) + far / sharpness)
    coarse = means + sum(row.grid < spacing for row in rows)
    there = sharpness * (operands + coarse * spacing) + far * relative
    return here, there


def _checked(result: Bound) -> Bound | Failure:
    if max(result.low, result.high) > 0.25:
        return Failure("its error exceeds 1/4")
    return result


def _geometric(slope: float) -> float:
    """Σ e^(-k·slope), k = 1, 2, …"""
    return exp(-slope) / -expm1(-slope)


def _power_of_two(x: float) -> bool:
    return x > 0 and frexp(x)[0] == 0.5
