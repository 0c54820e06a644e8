"""The kinds of attention head as the checker sees them: numbers, and theorems in the reals.

Scores are in logits, with the temperature and the scale P of positions multiplied in; past heads
over j <= i (mirrored: r for i and j >= i):

    Latest      B(j - i) - A·i·bad_j          with A >= 2B          (temperature: A·P·bad_j)
    Previous    B(j - i) - A0 - A1·(-1)^(i+j) with 2·A1 > B
    Average     0
    Sign        Σ κ·mean_i·key_j + A_i·i + A_r·r_i + A_0 + D(j - i) on ordinary j, 0 at the sink
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, inf

from softhat.proof.atoms import Direction, Range
from softhat.transformer.weights import Attention


@dataclass(frozen=True, slots=True)
class Entry:
    """One weight of a query or key row: of a feature (`base`·P^power), a bit or a mean."""

    base: str
    power: int
    weight: float


Side = tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Scores:
    """The rows as numbers, without coordinates: what rounding depends on."""

    attention: Attention
    sharpness: float
    rows: tuple[tuple[Side, Side], ...]


@dataclass(frozen=True, slots=True)
class Latest:
    """Softmax of B(j - i) - A·i·bad_j."""

    direction: Direction
    scores: Scores
    slope: float
    penalty: float


@dataclass(frozen=True, slots=True)
class Previous:
    """Softmax of B(j - i) - A0 - A1·(-1)^(i+j)."""

    direction: Direction
    scores: Scores
    slope: float
    offset: float
    alternation: float


@dataclass(frozen=True, slots=True)
class Average:
    """Uniform attention. `range` is of the integer-valued Σ a·bit, in units of `grid`."""

    over: Range
    attention: Attention
    low: float
    high: float
    grid: float
    mass: float
    """The largest Σ|a| of a value."""
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Slope:
    """A mean that Sign reads: κ·Σ a·bit lies in [low, high] at a position."""

    over: Range
    low: float
    high: float
    query: float
    """How large its query can be."""


@dataclass(frozen=True, slots=True)
class Sign:
    """Ordinary positions against the sink: at j = i the logit is Σ κ·count + A_i·i + A_r·r + A_0.

    It is never nearer to 0 than `up` above and `down` below, and is a multiple of `unit` away
    from these. `steep` is D.
    """

    direction: Direction
    scores: Scores
    means: tuple[Slope, ...]
    at_i: float
    at_r: float
    constant: float
    up: float
    down: float
    unit: float
    steep: float
    seen_by_sink: bool
    """Whether the other sink's query, where i = r = 0, sees all keys."""


Kind = Latest | Previous | Average | Sign


def slope_of(sign: Sign) -> float:
    """How fast scores fall with the distance, at least, where the answer is no.

    With one average over the head's own direction and a negative constant A_0 as the rest, the
    score is at most A_0 - D(i - j) where the average is negative, and falls by more than D a
    step where it is not: then D need not outweigh the average.
    """
    if one_sided(sign):
        return sign.steep
    rising, falling = ("future", "past") if sign.direction == "past" else ("past", "future")
    slope = sign.steep
    for mean in sign.means:
        if mean.over == falling:
            slope += min(0.0, mean.low)
        elif mean.over == rising:
            slope -= max(0.0, mean.high)
    return slope


def one_sided(sign: Sign) -> bool:
    """A comparison of counts in the head's own direction with a positive constant."""
    alone = all(mean.over == sign.direction for mean in sign.means)
    return alone and len(sign.means) == 1 and not sign.at_i and not sign.at_r and sign.constant < 0


def min_gap(kind: Kind) -> float:
    """The best score minus the next, for every n and every word."""
    match kind:
        case Latest(slope=slope):
            return slope
        case Previous(slope=slope, alternation=alternation):
            return min(2 * slope, 2 * alternation - slope)
        case Sign(up=up, down=down):
            return min(up, down)
        case Average():
            return inf


def real_leak(kind: Kind) -> float:
    """Attention outside the winner (for Sign: the winning side), for every n, at most."""
    if kind_attention(kind) == "hard":
        return 0.0
    match kind:
        case Latest(slope=slope):
            return exp(-slope)
        case Previous(slope=slope, alternation=alternation):
            return (exp(-2 * slope) + exp(slope - 2 * alternation)) / -expm1(-2 * slope)
        case Sign(up=up, down=down):
            down = min(down, -kind.constant) if one_sided(kind) else down
            return max(exp(-up), exp(-down) / -expm1(-slope_of(kind)))
        case Average():
            return 0.0


def numbers(kind: Kind) -> dict[str, float]:
    """The coefficients of a head's score."""
    match kind:
        case Latest():
            names: tuple[str, ...] = ("slope", "penalty")
        case Previous():
            names = ("slope", "offset", "alternation")
        case Average():
            names = ("low", "high")
        case Sign():
            names = ("steep", "at_i", "at_r", "constant", "unit")
    return {name: getattr(kind, name) for name in names}


def kind_attention(kind: Kind) -> str:
    return kind.attention if isinstance(kind, Average) else kind.scores.attention


def kind_name(kind: Kind) -> str:
    match kind:
        case Latest(direction=direction):
            return "Latest" if direction == "past" else "Earliest"
        case Previous(direction=direction):
            return "Previous" if direction == "past" else "Next"
        case Average():
            return "Average"
        case Sign():
            return "Sign"


def grid_of(weight: float) -> float:
    """The largest power of two that `weight` is a multiple of."""
    numerator, denominator = float(weight).as_integer_ratio()
    return float(numerator & -numerator) / denominator if numerator else float("inf")
