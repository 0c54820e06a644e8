"""Fresh AHATs to attack: tables, `<eos>`, features twice, ties of all kinds, awkward rationals."""

from __future__ import annotations

import random
from fractions import Fraction

from softhat.ahat.model import AHAT, MASKS, TIES, FeedForward, Head, Layer, Matrix, Vector
from softhat.numbers.positions import NAMES, DigitFeature, Feature, Mod, Named, Table

AWKWARD = [Fraction(x) for x in ("1", "-1", "1/3", "-2/7", "5/11", "13/4", "-17/10", "1000/999")]
TABLE = 14


def fresh(seed: int) -> AHAT:
    """One to three layers of sparse heads over tokens and features, from a seed."""
    rng = random.Random(seed)
    sinks = rng.choice([0, 0, 1, 2, 2])
    features: list[Feature] = [_feature(rng) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.4:
        features.append(features[0])  # the same twice
    d = len(features) + 3

    def number(p: float) -> Fraction:
        return rng.choice(AWKWARD) if rng.random() < p else Fraction(0)

    def vector(width: int, p: float) -> Vector:
        return tuple(number(p) for _ in range(width))

    def one(width: int) -> Vector:
        at = rng.randrange(width)
        return tuple(rng.choice(AWKWARD) if c == at else number(0.1) for c in range(width))

    def head() -> Head:
        rows = rng.choice([0, 1, 1, 1, 2])
        query = tuple(one(d) for _ in range(rows))
        key = tuple(one(d) for _ in range(rows))
        output: Matrix = tuple((number(0.3),) for _ in range(d))
        ties = rng.choice(TIES) if rng.random() < 0.5 else "average"
        return Head(rng.choice(MASKS), query, key, (one(d),), output, ties=ties)

    def forward() -> FeedForward | None:
        if rng.random() < 0.6:
            return None
        units = rng.randint(1, 2)
        into = tuple(one(d) for _ in range(units))
        out = tuple(vector(units, 0.3) for _ in range(d))
        return FeedForward(into, vector(units, 0.5), out, vector(d, 0.1))

    return AHAT(
        alphabet=("a", "b"),
        bos=sinks > 0,
        positions=tuple(features),
        embedding=(vector(d, 0.5), vector(d, 0.5)),
        bos_embedding=vector(d, 0.4) if sinks else None,
        eos_embedding=vector(d, 0.4) if sinks > 1 else None,
        position_embedding=tuple(
            tuple(rng.choice(AWKWARD) if c == k else Fraction(0) for k in range(len(features)))
            for c in range(d)
        ),
        layers=tuple(
            Layer(tuple(head() for _ in range(rng.randint(1, 2))), forward())
            for _ in range(rng.choice([1, 1, 2, 2, 3]))
        ),
        output_weights=vector(d, 0.7),
        output_bias=number(0.5),
    )


def _feature(rng: random.Random) -> Feature:
    kind = rng.randrange(6)
    if kind == 0:
        size = rng.choice([1, 2, 3])
        return Table(tuple(rng.choice(AWKWARD[:size]) for _ in range(TABLE)))
    if kind == 1:
        modulus = rng.choice([2, 3, 29])
        return Mod(modulus, rng.randrange(modulus), sinks=rng.random() < 0.5)
    if kind == 2:
        return DigitFeature(
            rng.randrange(3), rng.randint(-1, 2), rng.randint(0, 1), rng.randint(-2, 2)
        )
    return Named(rng.choice(NAMES))
