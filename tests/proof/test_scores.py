"""What the proof says of scores: the scale of positions, and what a projection can be."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from softhat.numerics import formats
from softhat.numerics.formats import MANY, NARROW, WIDE_DIGITS
from softhat.proof import steps
from softhat.proof.scores import WeightEntry, lines_of, projection, scale
from softhat.runtime import attend, dense
from softhat.transformer.weights import scale as scale_of_models


def test_p_is_what_models_are_run_with() -> None:
    for n in (*range(1, 300), *(2**k + d for k in range(9, 50) for d in (-3, -2, -1, 0, 1))):
        assert scale("temperature", n) == scale_of_models("temperature", n)
        assert scale("unbounded", n) == scale_of_models("unbounded", n) == 1


def test_facts_of_accumulation_are_the_runtime_s() -> None:
    """Both take them from `formats`: whoever writes one again has to tie it here."""
    assert vars(attend)["NARROW"] is vars(formats)["NARROW"] is NARROW
    assert vars(dense)["MANY"] is vars(steps)["MANY"] is MANY
    assert np.finfo(np.float64).nmant + 1 == WIDE_DIGITS


def value(entry: WeightEntry, i: int, n: int, scaled: int) -> Fraction:
    """A feature times its weight at position i of 0..n+1, the sinks at both ends."""
    ordinary = 1 <= i <= n
    base = {
        "1": Fraction(1),
        "ordinary": Fraction(ordinary),
        "i": Fraction(i if ordinary else 0),
        "r": Fraction(n + 1 - i if ordinary else 0),
        "(-1)^i": Fraction((-1) ** i if ordinary else 0),
    }[entry.base]
    return Fraction(entry.weight) * base * Fraction(scaled) ** entry.power


def test_projections_cover_every_position() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        n = int(rng.integers(1, 12))
        scaled = 1 << (n + 1).bit_length()
        side = tuple(
            WeightEntry(str(base), int(rng.integers(-1, 1)), float(rng.integers(-9, 10)) / 4)
            for base in rng.choice(["1", "ordinary", "i", "r", "(-1)^i"], 3, replace=False)
        )
        side = tuple(entry for entry in side if entry.weight) or (WeightEntry("1", 0, 1.0),)
        made = projection(lines_of(side, float(scaled)), n)
        values = [sum(value(entry, i, n, scaled) for entry in side) for i in range(n + 2)]
        assert made.low <= min(values)
        assert max(values) <= made.high
        for i in range(n + 2):
            terms = [value(entry, i, n, scaled) for entry in side]
            assert sum(map(abs, terms)) <= made.total
            assert sum(t for t in terms if t > 0) <= made.mass
            assert -sum(t for t in terms if t < 0) <= made.mass
            assert all(t / Fraction(made.grid) % 1 == 0 for t in terms)


def test_projections_of_long_words_are_rounded_outward_once() -> None:
    """Where sums leave float64: the exact extremes, and the nearest float beyond each."""
    rng = np.random.default_rng(6)
    for _ in range(200):
        n = int(rng.integers(2**40, 2**53))
        scaled = 1 << (n + 1).bit_length()
        side = tuple(
            WeightEntry(str(base), int(rng.integers(-1, 1)), float(rng.normal()))
            for base in rng.choice(["1", "ordinary", "i", "r"], 3, replace=False)
        )
        ends = [sum(value(entry, i, n, scaled) for entry in side) for i in (0, 1, n)]
        # The bounds also hold for (i, r) = (1, 1), which no position of a long word has.
        ends.append(ends[1] - sum((n - 1) * value(e, n, n, scaled) for e in side if e.base == "r"))
        made = projection(lines_of(side, float(scaled)), n)
        for exact, bound, beyond in ((min(ends), made.low, -1), (max(ends), made.high, 1)):
            inside = Fraction(np.nextafter(bound, -beyond * np.inf))
            assert beyond * exact <= beyond * Fraction(bound)
            assert beyond * inside < beyond * exact
