"""How far a head's output can be from the exact bit at length n, in a number format.

What is modelled is the dense runtime: projections rounded to storage; scores summed in the
accumulating format *in any order* (fused or not), multiplied by the inverse temperature and
rounded; weights exp(score - maximum), rounded; sums of weights and of weighted values, one
division, rounded. Bounds grow with n, so a search over n finds the largest length.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import exp, expm1

from softhat.proof.arithmetic import Format
from softhat.proof.comparisons import sign_bound
from softhat.proof.kinds import Average, Kind, Latest, Previous, Scores, Sign
from softhat.proof.scores import CARE, Failure, Row, power_of_two, rounded, rows_of, total_of
from softhat.proof.softmax import EXACT, Bound, checked, softmax

_COARSE = "scores of neighbouring positions are rounded together"


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
            return sign_bound(kind, n, form)


def _latest(kind: Latest, n: int, form: Format) -> Bound | Failure:
    """Gaps are B, 2B, …, and those of ruled-out keys at least as large: A·i >= 2B·i."""
    rows = rows_of(kind.scores, n, form)
    if isinstance(rows, Failure):
        return rows
    keys = [key for _, key in kind.scores.rows]
    ruling = [any(e.base in ("bit", "ordinary") for e in key) for key in keys]
    kept = [row for row, rules in zip(rows, ruling, strict=True) if not rules]
    sharpness = kind.scores.sharpness
    total = total_of(kept, sharpness, form)
    if total.size > form.largest:
        return Failure("scores overflow")
    error = rounded(total, sharpness, total.size, form)
    # A ruled-out key's score is off by a share of its own size, (A + 2B)·i at most, and of what
    # its other rows hold beyond the 2B·i of B·j and B·i.
    share = (len(rows) + 3) * 2 * form.u_sum + 4 * 2.0**-form.digits
    held = sharpness * sum(max(-row.low, row.high) for row in kept)
    if any(ruling):
        error += share * max(0.0, held - 2 * kind.slope * n * CARE)
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
    return checked(softmax(losers, losers, terms, tail, form))


def _previous(kind: Previous, n: int, form: Format) -> Bound | Failure:
    """Gaps are 2B, 4B, … for the other keys of i-1's parity, 2·A1 - B, + 2B, … for i's own."""
    rows = rows_of(kind.scores, n, form)
    if isinstance(rows, Failure):
        return rows
    sharpness = kind.scores.sharpness
    # i-1 and keys of its parity gain by the alternation what keys of i's own parity lose.
    near = total_of(_with_parity(kind.scores, rows, own=False), sharpness, form)
    away = total_of(_with_parity(kind.scores, rows, own=True), sharpness, form)
    if max(near.size, away.size) > form.largest:
        return Failure("scores overflow")
    winner = abs(kind.alternation - kind.offset - kind.slope)
    far = 0.0
    errors = []
    for total in (near, away):
        # Scores beyond what storage holds exactly are losers by nearly that much.
        exact = 2.0**form.digits * total.grid
        size = total.size
        if form.u and size > exact > winner and not total.error and power_of_two(sharpness):
            far = (n + 2) * exp(-min(700.0, exact - winner))
            size = exact
        errors.append(rounded(total, sharpness, size, form))
    error, own_error = errors
    other, own = 2 * kind.slope, 2 * kind.alternation - kind.slope
    if 2 * error > 0.9 * other or error + own_error > 0.9 * own:
        return Failure(_COARSE)
    if kind.scores.attention == "hard":
        return EXACT
    spread = -expm1(-2 * kind.slope)
    losers = (exp(2 * error - other) + exp(error + own_error - own)) / spread + far
    terms = min(n + 2.0, 4 + (form.visible + error + own_error) / kind.slope)
    tail = min(losers, 2 * form.normal / spread)
    return checked(softmax(losers, losers, terms, tail, form))


def _with_parity(scores: Scores, rows: list[Row], own: bool) -> list[Row]:
    """The rows for keys of the query's own parity, or of the other.

    The one row that alternates is -A1 for the former and A1 for the latter.
    """
    signs = [[entry.base == "(-1)^i" for side in row for entry in side] for row in scores.rows]
    if sum(map(any, signs)) != 1:
        return rows
    at = next(k for k, found in enumerate(signs) if any(found))
    if not all(signs[at]):
        return rows
    changed = replace(rows[at], high=0.0) if own else replace(rows[at], low=0.0)
    return [*rows[:at], changed, *rows[at + 1 :]]


def _average(kind: Average, n: int, form: Format) -> Bound | Failure:
    """Sums of integers in units of `grid` are exact; the mean is rounded at the division (and
    to storage): `sign` accounts for that. Here: that the sums are exact."""
    size = max(-kind.low, kind.high)
    if any(form.load(weight) != weight for weight in kind.weights):
        return Failure("a weight of the values is not representable")
    if kind.weights and not form.holds(size, kind.grid):
        return Failure("values are not representable")
    if kind.weights and max(n * size, kind.mass) > 2.0**form.sum_digits * kind.grid:
        return Failure("sums of values are not exact")
    if max(n * size, kind.mass) > form.sum_largest:
        return Failure("sums of values overflow")
    if n + 2 > 2.0**form.sum_digits:
        return Failure("the number of positions is not exact")
    return EXACT


def _geometric(slope: float) -> float:
    """Σ e^(-k·slope), k = 1, 2, …"""
    return exp(-slope) / -expm1(-slope)
