"""What rounding adds: the softmax model in float32 or float64 instead of the reals.

Every bound is of the form (number of operations)·u·(sum of absolute terms), u the unit roundoff,
for any order of summation, and 0 where the operations are exact: operands that carry no error,
on a grid of powers of two, with sums below 2^p grid units. Weights may be off by one rounding;
β is folded into the query. Weights of attention are summed first and divided last.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from softhat.ahat.exact import Integers, Scaled, floats, scaled
from softhat.ahat.model import AHAT, FeedForward, Head, Matrix, Vector
from softhat.positions import exact

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """A number format: significand bits (0: the reals), and where e^-y underflows."""

    name: str
    bits: int
    underflow: float

    @property
    def u(self) -> float:
        return 2.0**-self.bits if self.bits else 0.0

    def gamma(self, operations: int) -> float:
        """Bound on the relative error of this many roundings."""
        x = operations * self.u
        return x / (1 - x)


REALS = Arithmetic("reals", 0, np.inf)
FLOAT64 = Arithmetic("float64", 53, 700.0)
FLOAT32 = Arithmetic("float32", 24, 80.0)
ARITHMETICS = {a.name: a for a in (REALS, FLOAT64, FLOAT32)}


def embedding_noise(kind: Arithmetic, x: Scaled, model: AHAT, n: int) -> Floats:
    """Rounding of the embedding x of words of length n, coordinate by coordinate.

    The sum of a token's entry and of products weight·feature is taken in the format itself. A
    coordinate with one summand is off by the rounding of its factors and of their product: by
    nothing where these are numbers of the format. With more summands, each of which may cancel,
    it is off by that of their absolute sum.
    """
    size = np.abs(x.floats())
    if not kind.bits:
        return np.zeros_like(size)
    parts = _summands(model, n, kind.bits)
    once = np.where(_representable(kind, x), 0.0, size * kind.u)
    single = np.where(parts.exact | parts.plain, once, size * kind.gamma(3))
    several = np.where(parts.whole, 0.0, parts.size * _gammas(kind, parts.count + 3))
    return np.where(parts.count <= 1, single, several)


@dataclass(frozen=True, slots=True)
class _Summands:
    """Per coordinate of the embedding: how many summands it has, and how exact they are."""

    count: npt.NDArray[np.int64]
    plain: npt.NDArray[np.bool_]  # one feature with weight ±2^k, or a token's entry: one rounding
    exact: npt.NDArray[np.bool_]  # all factors are numbers of the format
    whole: npt.NDArray[np.bool_]  # so are all sums, in any order
    size: Floats  # the greatest sum of absolute summands


@lru_cache(maxsize=1024)
def _summands(model: AHAT, n: int, bits: int) -> _Summands:
    features = list(zip(*exact(model.positions, n, bos=model.bos, eos=model.eos), strict=True))
    columns = [_features(column, bits) for column in features]
    vectors = model.vectors
    found = []
    for c, weights in enumerate(model.position_embedding):
        tokens = [v[c] for v in vectors if v[c]]
        used = [k for k, w in enumerate(weights) if w]
        count = bool(tokens) + len(used)
        plain = count == 1 and (bool(tokens) or _power_of_two(abs(weights[used[0]])))
        factors = all(_fits(x.numerator, x.denominator, bits) for x in tokens)
        factors &= all(
            columns[k][1] and _fits(weights[k].numerator, weights[k].denominator, bits)
            for k in used
        )
        size = max(map(abs, tokens), default=Fraction(0))
        size += sum((abs(weights[k]) * columns[k][0] for k in used), Fraction(0))
        den = math.lcm(*(x.denominator for x in tokens), *(columns[k][2] for k in used), 1)
        den *= math.lcm(1, *(weights[k].denominator for k in used))
        whole = factors and den & (den - 1) == 0 and size * den < 2**bits
        found.append((count, plain, factors, whole, float(size) * (1 + 1e-9)))
    return _Summands(*(np.array(column) for column in zip(*found, strict=True)))


def _features(column: tuple[Fraction, ...], bits: int) -> tuple[Fraction, bool, int]:
    """The greatest absolute value of a feature, whether the format has all, their denominator."""
    representable = all(_fits(x.numerator, x.denominator, bits) for x in column)
    return max(map(abs, column)), representable, math.lcm(*(x.denominator for x in column))


def _power_of_two(x: Fraction) -> bool:
    above, below = x.numerator, x.denominator
    return above & (above - 1) == 0 and below & (below - 1) == 0


def _gammas(kind: Arithmetic, operations: npt.NDArray[np.int64]) -> Floats:
    return np.array([kind.gamma(int(k)) for k in operations])


def score_noise(
    kind: Arithmetic,
    head: Head,
    beta: float,
    x: Scaled,
    query_size: Floats,
    key_size: Floats,
    clean: npt.NDArray[np.bool_],
    gaps: Floats,
) -> Floats:
    """Bound on the rounding of β·score - max, for every (query, key) pair.

    query_size, key_size: bounds on |x̂| per coordinate, (…, rows, d). clean: coordinates (d,)
    without error. gaps: exact, in score units.
    """
    if not kind.bits:
        return np.zeros_like(gaps)
    d = query_size.shape[-1]
    wq, wk = np.abs(floats(head.query, d)), np.abs(floats(head.key, d))
    size = beta * ((query_size @ wq.T) @ np.swapaxes(key_size @ wk.T, -1, -2))
    d_k = len(wq)
    if _exact_scores(kind, head, beta, x, size, clean):
        projected: Floats = np.zeros_like(gaps)
    else:  # of the key and of the key it is compared with: twice the row's largest
        largest = size.max(axis=-1, keepdims=True, initial=0.0)
        projected = np.broadcast_to(2 * kind.gamma(2 * d + d_k + 8) * largest, gaps.shape)
    argument = np.minimum(beta * np.abs(gaps), kind.underflow) * 2 * kind.u
    return projected + np.where(gaps == 0, 0.0, argument + 8 * kind.u)


def head_noise(
    kind: Arithmetic,
    head: Head,
    x: Scaled,
    size: Floats,
    clean: npt.NDArray[np.bool_],
    uniform: bool,
    keys: int,
    together: int,
) -> Floats:
    """Rounding of the head's addition to the residual, per coordinate; one bound for all rows.

    What the heads of a layer add is summed in any order: `together` counts their values.
    """
    d = size.shape[-1]
    if not kind.bits or not head.value:
        return np.zeros(d)
    largest = size.reshape(-1, d).max(axis=0)
    wv, wo = np.abs(floats(head.value)), np.abs(floats(head.output))
    value = largest @ wv.T  # (d_v,)
    exact = _exact_products(kind, head.value, x, value * keys, clean)
    value_error = 0.0 if exact else kind.gamma(d + 3)
    mean_error = kind.gamma(3) if exact and uniform else kind.gamma(2 * keys + 8)
    mean = value * (1 + mean_error)
    change = wo @ (value * (value_error + mean_error) * 1.01 + mean * kind.gamma(together + 2))
    added = np.where(wo.any(axis=1), kind.u * (largest + wo @ mean) * 1.01, 0.0)
    return change + added


def forward_noise(
    kind: Arithmetic, forward: FeedForward, size: Floats, x: Scaled, clean: npt.NDArray[np.bool_]
) -> Floats:
    """Rounding of the feed-forward sublayer, per coordinate; one bound for all rows."""
    d = size.shape[-1]
    if not kind.bits:
        return np.zeros(d)
    largest = size.reshape(-1, d).max(axis=0)
    wi = np.abs(floats(forward.in_weights, d))
    wo = np.abs(floats(forward.out_weights))
    bi = np.abs(floats((forward.in_bias,))[0])
    bo = np.abs(floats((forward.out_bias,))[0])
    pre = wi @ largest + bi
    dyadic = _dyadic_matrix((forward.in_bias,))
    exact = dyadic and _exact_products(kind, forward.in_weights, x, pre, clean)
    pre_error = np.zeros_like(pre) if exact else pre * kind.gamma(d + 4)
    hidden = pre + pre_error
    out = wo @ hidden + bo
    change = wo @ pre_error + out * kind.gamma(len(wi) + 4)
    touched = wo.any(axis=1) | (bo > 0)
    return np.where(touched, change + kind.u * (largest + out) * 1.01, 0.0)


def readout_noise(kind: Arithmetic, weights: Vector, bias: float, size: Floats) -> float:
    """Rounding of the model's value."""
    if not kind.bits:
        return 0.0
    w = np.abs(floats((weights,))[0])
    largest = size.reshape(-1, len(w)).max(axis=0)
    return float((largest @ w + abs(bias)) * kind.gamma(len(w) + 4))


def _exact_scores(
    kind: Arithmetic,
    head: Head,
    beta: float,
    x: Scaled,
    size: Floats,
    clean: npt.NDArray[np.bool_],
) -> bool:
    """Scores on a power-of-two grid, below 2^p units, from coordinates without error."""
    if not head.query:
        return True
    pairs = [p for p in zip(head.query, head.key, strict=True) if any(p[0]) and any(p[1])]
    if not pairs:
        return True
    query, key = tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)
    read = {c for row in (*query, *key) for c, w in enumerate(row) if w}
    if not all(clean[c] for c in read) or not (_dyadic_matrix(query) and _dyadic_matrix(key)):
        return False
    grid = _column_den(x, sorted(read))
    if grid is None:
        return False
    beta_den = int(beta.as_integer_ratio()[1])
    unit = grid * grid * scaled(query).den * scaled(key).den * beta_den
    return bool(size.max(initial=0.0) * unit < 2.0**kind.bits)


def _exact_products(
    kind: Arithmetic, matrix: Matrix, x: Scaled, sums: Floats, clean: npt.NDArray[np.bool_]
) -> bool:
    """matrix · x has no rounding at all, and neither have sums of its results to this size."""
    read = {c for row in matrix for c, w in enumerate(row) if w}
    if not all(clean[c] for c in read) or not _dyadic_matrix(matrix):
        return False
    grid = _column_den(x, sorted(read))
    if grid is None:
        return False
    return bool(np.max(sums, initial=0.0) * grid * scaled(matrix).den < 2.0**kind.bits)


def _column_den(x: Scaled, columns: list[int]) -> int | None:
    """The common denominator of these coordinates, if it is a power of two."""
    if not columns:
        return 1
    part: Integers = x.num[..., columns]
    common = int(np.gcd.reduce(part, axis=None)) if part.size else 0
    den = x.den // math.gcd(x.den, common) if common else 1
    return den if den & (den - 1) == 0 else None


def _dyadic_matrix(matrix: Matrix | tuple[Vector, ...]) -> bool:
    return all(x.denominator & (x.denominator - 1) == 0 for row in matrix for x in row)


def _representable(kind: Arithmetic, x: Scaled) -> npt.NDArray[np.bool_]:
    """Is num/den a number of the format?"""
    flat = np.array([_fits(int(v), x.den, kind.bits) for v in x.num.ravel()], dtype=bool)
    return flat.reshape(x.num.shape)


def _fits(num: int, den: int, bits: int) -> bool:
    if num == 0:
        return True
    common = math.gcd(num, den)
    num, den = num // common, den // common
    if den & (den - 1):
        return False
    odd = abs(num) // (abs(num) & -abs(num))
    return odd.bit_length() <= bits
