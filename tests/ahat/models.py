"""Random AHATs, reproducible from a seed."""

from __future__ import annotations

import random
from fractions import Fraction

from softhat.ahat.builder import Builder
from softhat.ahat.model import AHAT, MASKS, TIES, FeedForward, Head, Layer
from softhat.numbers.positions import Feature, Mod, Named, Table


def random_model(
    rng: random.Random, layers: int | None = None, alphabet: str = "ab", heads: int = 2
) -> AHAT:
    """Small dense weights, any mask, any feature, with and without `<bos>` and feed-forwards."""
    d = rng.randint(2, 4)
    features: list[Feature] = [
        Named(name) for name in rng.sample(["1", "i", "i/n", "1/i", "(-1)^i", "n", "i^2"], 2)
    ]
    if rng.random() < 0.3:
        features.append(Mod(3, rng.randrange(3)))
    if rng.random() < 0.2:
        features.append(Table(tuple(Fraction(rng.randint(-2, 2), 2) for _ in range(12))))
    bos = rng.random() < 0.3

    def number(p: float = 0.6) -> Fraction:
        return (
            Fraction(rng.randint(-2, 2), rng.choice([1, 1, 2, 3]))
            if rng.random() < p
            else Fraction(0)
        )

    def matrix(rows: int, columns: int, p: float = 0.6) -> tuple[tuple[Fraction, ...], ...]:
        return tuple(tuple(number(p) for _ in range(columns)) for _ in range(rows))

    def head() -> Head:
        d_k, d_v = rng.randint(0, 2), rng.randint(1, 2)
        return Head(
            rng.choice(MASKS), matrix(d_k, d), matrix(d_k, d), matrix(d_v, d), matrix(d, d_v)
        )

    def forward() -> FeedForward | None:
        if rng.random() < 0.5:
            return None
        k = rng.randint(1, 3)
        return FeedForward(matrix(k, d), matrix(1, k)[0], matrix(d, k), matrix(1, d)[0])

    return AHAT(
        alphabet=tuple(alphabet),
        bos=bos,
        positions=tuple(features),
        embedding=matrix(len(alphabet), d, 0.8),
        bos_embedding=matrix(1, d)[0] if bos else None,
        position_embedding=matrix(d, len(features), 0.4),
        layers=tuple(
            Layer(tuple(head() for _ in range(rng.randint(1, heads))), forward())
            for _ in range(layers or rng.randint(1, 3))
        ),
        output_weights=matrix(1, d, 0.9)[0],
        output_bias=number(),
    )


def random_program(rng: random.Random, layers: int = 2) -> AHAT:
    """Written with the builder: heads that select by token and position, then mix what they find.

    Closer to what people write than dense random weights, and often with ties.
    """
    alphabet = "ab" if rng.random() < 0.7 else "abc"
    b = Builder(alphabet, bos=rng.random() < 0.3)
    tokens = [b.token(s) for s in alphabet]
    places = [b.position(f) for f in rng.sample(["i", "i/n", "1/i", "(-1)^i"], 2)]
    pool = list(tokens)
    for k in range(layers):
        a, c = rng.choice(pool), rng.choice(pool)
        score = rng.choice(
            [
                [(rng.choice([1, -1]), rng.choice(places))],
                [(a, c), (rng.choice([0, 1]), rng.choice(places))],
                [(a, c)],
                [(1, c)],
                [(1, 2 * c), (1, rng.choice(places))],
            ]
        )
        mask = rng.choice(MASKS)
        new = b.head(mask, value={f"h{k}": rng.choice(pool)}, score=score)[f"h{k}"]
        if rng.random() < 0.4:
            new = b.relu(f"r{k}", new - Fraction(1, rng.choice([2, 3, 4])))
        pool.append(new)
    out = (
        pool[-1]
        + Fraction(rng.randint(0, 1), 2) * rng.choice(pool)
        - Fraction(1, rng.choice([3, 5]))
    )
    b.output(out)
    return b.build()


def random_tieless(rng: random.Random) -> AHAT:
    """Uniform-tieless by construction: every head is uniform or orders keys by position alone."""
    b = Builder("ab")
    i, square, share, inverse = (b.position(f) for f in ("i", "i^2", "i/n", "1/i"))
    pool = [b.token("a"), b.token("b") - b.token("a") * Fraction(1, rng.choice([2, 3]))]
    depth = rng.randint(1, 3)
    for k in range(depth):
        target = rng.randint(1, 4)
        score = rng.choice(
            [
                [],
                [(rng.choice([1, -1, Fraction(1, 2)]), i)],
                [(rng.choice([1, -2]), share)],
                [(-1, inverse)],
                [(2 * (i - 1), i), (-1, square)],
                [(2 * target, i), (-1, square)],
                [(2, pool[0]), (1, 3 * i)] if k == 0 else [(1, i)],
            ]
        )
        mask = rng.choice(["none", "<=", "<", ">="])
        value = rng.choice(pool)
        new = b.head(mask, value={f"h{k}": value}, score=score)[f"h{k}"]
        if rng.random() < 0.3:
            new = b.relu(f"r{k}", new - Fraction(1, 3))
        pool.append(new)
    b.output(sum(pool[2:], pool[0] * Fraction(1, 4)) - Fraction(3, 7))
    return b.build()


def random_deep(rng: random.Random, unique: bool = True) -> AHAT:
    """One to four layers: averages of averages, every position feature, ties of every kind."""
    b = Builder("ab", bos=rng.random() < 0.4)
    names = ["i", "i/n", "1/i", "(-1)^i", "i^2", "n", "r", "first", "last"]
    features = [b.position(f) for f in rng.sample(names, 3)]
    b_weight = Fraction(rng.randint(1, 3), rng.randint(1, 3))
    pool = [b.token("a"), b.token("b") * b_weight, *features]
    for k in range(rng.randint(1, 4)):
        a, c, value = (rng.choice(pool) for _ in range(3))
        factor = Fraction(rng.randint(-3, 3), rng.randint(1, 3))
        score = rng.choice([[], [(1, c)], [(a, c)], [(a, c), (factor, rng.choice(pool))]])
        ties = rng.choice(TIES) if unique and rng.random() < 0.5 else "average"
        new = b.head(rng.choice(MASKS), value={f"h{k}": value}, score=score, ties=ties)[f"h{k}"]
        if rng.random() < 0.4:
            new = b.relu(f"r{k}", new - Fraction(rng.randint(-2, 2), rng.choice([1, 2, 3])))
        pool.append(new)
    b.output(pool[-1] - Fraction(1, 3))
    return b.build()
