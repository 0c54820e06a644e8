"""Position features"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.io.errors import SofthatError
from softhat.numbers.definitions import define
from softhat.numbers.positions import (
    NAMES,
    PLACES,
    SHARES,
    DigitFeature,
    Feature,
    Holds,
    Mod,
    Named,
    Table,
    exact,
    floats,
    longest,
    needs_end,
)
from softhat.numbers.predicates import BuiltIn
from tests.logic.oracle import PREDICATES

TABLE = Table(tuple(Fraction(k, 3) for k in range(-2, 10)))
FEATURES: tuple[Feature, ...] = (
    *(Named(name) for name in NAMES),
    Mod(3, 0),
    Mod(3, 0, sinks=False),
    Mod(4, 3),
    TABLE,
    DigitFeature(1, 1, 0, 0),
    DigitFeature(0, -1, 1, 1),
    Holds(BuiltIn("prime")),
    Holds(BuiltIn("middle")),
    Holds(define("p", "0110(01)")),
)


def defined(feature: Feature, i: int, n: int, bos: bool) -> Fraction:
    """Straight from the table in the docs: i is 0 at `<bos>` and n+1 at `<eos>`."""
    own = 1 <= i <= n
    match feature:
        case Mod(m, r, sinks):
            return Fraction(i % m == r and (own or sinks))
        case Table(entries):
            return Fraction(0) if i > n else entries[i if bos else i - 1]
        case DigitFeature(bit, position, length, constant):
            number = max(position * i + length * n + constant, 0)
            return Fraction(own and number >> bit & 1)
        case Holds(predicate):
            return Fraction(own and bool(PREDICATES[predicate.name](i, n)))
        case Named("1"):
            return Fraction(1)
        case Named("n"):
            return Fraction(n)
        case Named("(-1)^i"):
            return Fraction(-1) ** i
        case Named(name) if name.startswith("j/n^"):
            return Fraction(i, n ** int(name[4:]))
    if not own:
        return Fraction(0)
    known = {
        "i": Fraction(i),
        "i/n": Fraction(i) / n,
        **{f"i/n^{k}": Fraction(i) / n**k for k in range(2, 9)},
        "1/i": 1 / Fraction(i),
        "i^2": Fraction(i) * i,
        "r": Fraction(n + 1 - i),
        "ordinary": Fraction(1),
        "first": Fraction(i == 1),
        "last": Fraction(i == n),
    }
    known |= {name: Fraction(i, n**power) for name, power in SHARES.items()}
    assert isinstance(feature, Named)
    return known[feature.name]


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("eos", [False, True])
@given(n=st.integers(1, 11))
def test_both_evaluators_follow_the_definition(bos: bool, eos: bool, n: int) -> None:
    rows = exact(FEATURES, n, bos=bos, eos=eos)
    places = range(1 - bos, n + 1 + eos)
    assert rows == [tuple(defined(f, i, n, bos) for f in FEATURES) for i in places]
    table = floats(FEATURES, n, bos=bos, eos=eos)
    assert table.tolist() == [[float(x) for x in row] for row in rows]


def test_a_stretch_of_a_table_is_that_stretch() -> None:
    whole = floats(FEATURES, 9, eos=True)
    assert np.array_equal(floats(FEATURES, 9, eos=True, start=4, stop=8), whole[4:8])


def test_only_scaled_features_are_divided() -> None:
    table = floats((Named("i"), Named("i", scaled=True), Mod(2, 1)), 3, scale=8)
    assert table.tolist() == [[0, 0, 0], [1, 1 / 8, 1], [2, 1 / 4, 0], [3, 3 / 8, 1]]


def test_far_positions_and_huge_moduli() -> None:
    n = 1 << 40
    features = (Named("i"), Named("i^2"), Named("r"), Mod(10**30, 3))
    (row,) = floats(features, n, start=n - 1, stop=n).tolist()
    assert row == [float(n - 1), float((n - 1) ** 2), 2.0, 0.0]
    (early,) = floats(features, n, start=3, stop=4).tolist()
    assert early == [3.0, 9.0, float(n - 2), 1.0]


def test_a_word_past_the_table_is_an_error() -> None:
    assert longest(FEATURES, bos=True) == 11 and longest(FEATURES, bos=False) == 12
    assert longest((Named("i"),), bos=True) is None
    for run in (floats, exact):
        with pytest.raises(SofthatError, match="12 entries, but a word of length 12 needs 13"):
            run((TABLE,), 12, bos=True)


def test_which_features_need_the_end() -> None:
    found = [f.name for f in FEATURES if isinstance(f, Named) and needs_end(f)]
    assert found == ["n", "i/n", "r", "last", *SHARES, *PLACES]
    assert [f for f in FEATURES if not isinstance(f, Named) and needs_end(f)] == [
        DigitFeature(0, -1, 1, 1),
        Holds(BuiltIn("middle")),
    ]
