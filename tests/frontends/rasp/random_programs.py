"""Random RASP programs: everything the language has, in small sizes."""

from __future__ import annotations

import random
from typing import Any

from softhat import rasp

SIGNS = ["<", "<=", "==", "!=", ">", ">="]
COMPARISONS = [c for c in rasp.Comparison if c not in (rasp.Comparison.TRUE, rasp.Comparison.FALSE)]


def random_program(dice: random.Random, size: int) -> rasp.SOp:
    """An s-op over number tokens."""
    if size <= 1:
        return dice.choice(
            [rasp.tokens, rasp.tokens, rasp.indices, rasp.length, rasp.Full(dice.randrange(3))]
        )
    match dice.randrange(8):
        case 0 | 1:
            return _mapped(dice, random_program(dice, size - 1))
        case 2 | 3:
            left = dice.randrange(1, size)
            return _joined(dice, random_program(dice, left), random_program(dice, size - left))
        case 4:
            return rasp.SelectorWidth(random_selector(dice, size - 1))
        case _:
            left = dice.randrange(1, size)
            default = dice.choice([None, 0, 7])
            return rasp.Aggregate(
                random_selector(dice, left), random_program(dice, size - left), default
            )


def random_selector(dice: random.Random, size: int) -> rasp.Selector:
    if size > 2 and dice.random() < 0.4:
        left = dice.randrange(1, size)
        one, other = random_selector(dice, left), random_selector(dice, size - left)
        return dice.choice([one & other, one | other, ~one])
    if dice.random() < 0.4:
        return rasp.Select(rasp.indices, rasp.indices, dice.choice(COMPARISONS))
    left = dice.randrange(1, size) if size > 1 else 1
    keys, queries = random_program(dice, left), random_program(dice, max(1, size - left))
    limit = dice.randrange(3)
    predicate: Any = dice.choice(
        [
            *COMPARISONS,
            rasp.Comparison.TRUE,
            lambda k, q: k is not None and k == q,
            lambda k, q: k is not None and k <= limit,
            lambda k, q: q is None or q == limit,
        ]
    )
    return rasp.Select(keys, queries, predicate)


def _mapped(dice: random.Random, x: rasp.SOp) -> rasp.SOp:
    c = dice.randrange(-1, 3)
    return dice.choice(
        [
            x + c, c - x, x * c, 2 * x, x == c, x < c, x >= c, ~x, x != c,
            rasp.Map(lambda v: v % 2, x),
            rasp.Map(lambda v: None if v == c else v, x),
            rasp.Map(lambda v: v > c, x),
            rasp.Map(lambda v: (v, c), x) == (1, c),
        ]
    )  # fmt: skip


def _joined(dice: random.Random, x: rasp.SOp, y: rasp.SOp) -> rasp.SOp:
    return dice.choice(
        [
            x + y, x - y, x * y, x == y, x < y, x >= y, (x > 0) & (y == 1), (x == 0) | (y > 0),
            rasp.LinearSequenceMap(x, y, 2, -1),
            rasp.SequenceMap(lambda a, b: a if b > 0 else -1, x, y),
            rasp.SequenceMap(lambda a, b: max(a, b), x, y),
        ]
    )  # fmt: skip
