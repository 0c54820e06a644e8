"""The shape of a head's scores, read from its weights.

A head's score is a bilinear form Σ w·a_i·b_j in residual coordinates of the query i and the
key j. Coordinates that only ever hold a position feature are known functions of the position,
so the form can be compared with six shapes whose softmax is a closed form:

- `Local`: slope·(j - i), less a cost for even distances, less a penalty on *bad* keys
  (Latest, strict or not, Previous and their mirror images);
- `Residues`: slope·(j - i), less a penalty on keys that are not at one distance modulo m (Shift);
- `Uniform`: 0 (Average);
- `Ramp`: A_i + B_i·j on the word's own positions and 0 at the sink (Sign);
- `Classes`: a function of the stored bits of query and key (Match, Width);
- `Numbered`: how many binary digits of the query's number differ from the key's place (At).

Terms that do not depend on the key cancel in the softmax and are dropped. Nothing is taken from
the head's name: constants are those of the weights, in the number format that runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from softhat.transformer.rows import Row
from softhat.transformer.weights import Mask

Factor = str | int
"""A position feature by its name (P divided out), or another coordinate."""
Terms = dict[tuple[Factor, Factor, int], float]
"""(query factor, key factor, power of P) -> weight."""


@dataclass(frozen=True, slots=True)
class Penalty:
    """Bad keys lose `weight`·(the query's distance from its sink), or `weight`·P."""

    row: Row
    weight: float
    scaled: bool


@dataclass(frozen=True, slots=True)
class Local:
    """Score -slope·d - even·[d even] - penalty·bad_j at distance d >= 0."""

    slope: float
    even: float
    penalty: Penalty | None
    taps: int
    """Distances from this on are negligible beside the winner."""


@dataclass(frozen=True, slots=True)
class Residues:
    """Score -slope·d - penalty·[d ≢ distance mod modulus] at distance d >= 0; the sink, which has
    no residue, is not penalised. With `scaled` the penalty is multiplied by P."""

    slope: float
    penalty: float
    scaled: bool
    distance: int
    modulus: int


@dataclass(frozen=True, slots=True)
class Uniform:
    """All scores equal."""


@dataclass(frozen=True, slots=True)
class Ramp:
    """Score A_i + B_i·(distance of j from the sink) on the word's own positions, 0 at the sink.

    `own` is the score at j = i and `slope` is B, as (constant, per i, per r) for the position
    part and for each coordinate x_c of the query that the score is linear in.
    """

    own: tuple[float, float, float]
    slope: float
    contents: tuple[tuple[int, tuple[float, float, float], float], ...]
    """(c, own of x_c, slope of x_c)."""


@dataclass(frozen=True, slots=True)
class Classes:
    """Score Σ weights[a][b]·q_a·k_b, where q_0 = k_0 = 1 and the others are bits of coordinates."""

    queries: tuple[int, ...]
    keys: tuple[int, ...]
    weights: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Numbered:
    """Score half·(1 - 2d) where d digits differ, and 0 at the sink. The digits of the key at j are
    those of ±j + constant, `down` for -j; the query's are bits, some of them `flipped`."""

    queries: tuple[int, ...]
    """The coordinate of each digit, the lowest first."""
    flipped: int
    """The digits of which the negation is meant, as a number."""
    half: float
    down: bool
    constant: int


Shape = Local | Residues | Uniform | Ramp | Classes | Numbered


@dataclass(frozen=True, slots=True)
class HeadForm:
    """One head: its shape, its values, and where they are added to the residual stream."""

    mask: Mask
    shape: Shape
    values: tuple[Row, ...]
    targets: tuple[Row, ...]
    """For each value the coordinates that its mean is added to, with weights."""
