"""Exact arithmetic against Python's Fractions, also where machine words end."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.io.errors import SofthatError
from softhat.numerics.exact import (
    Exact,
    Matrix,
    Scaled,
    Ties,
    add,
    attended,
    chosen,
    floats,
    integers,
    linear,
    ratio,
    reduced,
    scaled,
)
from softhat.numerics.masks import MASKS, Mask

sizes = st.sampled_from([3, 2**20, 2**40, 2**70])
rationals = sizes.flatmap(lambda most: st.fractions(-most, most, max_denominator=min(most, 10**6)))
matrices = st.lists(st.tuples(rationals, rationals), min_size=1, max_size=3).map(tuple)


def quantity(rows: Matrix) -> Scaled:
    return Scaled(*integers(rows))


@given(matrices)
def test_rows_are_kept(rows: Matrix) -> None:
    assert quantity(rows).fractions() == [list(row) for row in rows]
    assert reduced(quantity(rows)).fractions() == [list(row) for row in rows]


@given(matrices, matrices)
def test_products(rows: Matrix, weights: Matrix) -> None:
    wanted = [[a * u + b * v for u, v in weights] for a, b in rows]
    assert linear(quantity(rows), scaled(weights)).fractions() == wanted


@given(matrices, st.tuples(rationals, rationals))
def test_sums(rows: Matrix, bias: tuple[Fraction, Fraction]) -> None:
    wanted = [[a + bias[0], b + bias[1]] for a, b in rows]
    assert Exact().shift(quantity(rows), bias).fractions() == wanted
    doubled = add(quantity(rows), quantity(rows))
    assert doubled.fractions() == [[2 * a, 2 * b] for a, b in rows]


@given(matrices)
def test_relu(rows: Matrix) -> None:
    assert Exact().relu(quantity(rows)).fractions() == [[max(a, 0), max(b, 0)] for a, b in rows]


@given(st.integers(-(10**30), 10**30), st.integers(1, 10**25))
def test_floats_are_within_a_unit(num: int, den: int) -> None:
    near = Fraction(float(ratio(np.array([num], object), den)[0]))
    assert abs(near - Fraction(num, den)) <= abs(Fraction(num, den)) * Fraction(1, 2**52)
    assert floats(((Fraction(num, den),),))[0, 0] == float(near)


@pytest.mark.parametrize("ties", ["average", "leftmost", "rightmost"])
@pytest.mark.parametrize("mask", MASKS)
@given(st.lists(st.tuples(*[st.integers(-2, 2)] * 3), min_size=1, max_size=5))
def test_hard_attention_by_hand(mask: Mask, ties: Ties, rows: list[tuple[int, int, int]]) -> None:
    """Queries, keys and values of one coordinate each."""
    x = np.array(rows, np.int64)[None]
    query, key, value = (Scaled(x[..., k : k + 1], k + 1) for k in range(3))
    made = attended(query, key, value, mask, ties)
    for i, (q, _, _) in enumerate(rows):
        seen = [j for j in range(len(rows)) if _sees(mask, j, i)]
        best = [j for j in seen if q * rows[j][1] == max(q * rows[k][1] for k in seen)]
        kept = {"average": best, "leftmost": best[:1], "rightmost": best[-1:]}[ties]
        total = sum((Fraction(rows[j][2], 3) for j in kept), Fraction(0))
        assert made.mean.fractions()[0][i] == [total / max(1, len(kept))]
        assert np.flatnonzero(made.highest[0, i]).tolist() == best
    last = attended(Scaled(query.num[:, -1:], query.den), key, value, mask, ties)
    assert last.mean.fractions()[0][0] == made.mean.fractions()[0][-1]


def _sees(mask: Mask, j: int, i: int) -> bool:
    return {"none": True, "<=": j <= i, "<": j < i, ">=": j >= i, ">": j > i}[mask]


def test_one_of_several_maxima() -> None:
    highest = np.array([[True, False, True], [False, True, True]])
    assert chosen(highest, "leftmost").tolist() == [[True, False, False], [False, True, False]]
    assert chosen(highest, "rightmost").tolist() == [[False, False, True]] * 2


def test_scores_that_would_fill_the_memory_are_refused() -> None:
    long = Scaled(np.ones((1, 20_000, 1), np.int64), 1)
    with pytest.raises(SofthatError, match="give shorter words"):
        attended(long, long, long, "<=", "average")
