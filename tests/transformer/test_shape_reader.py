"""Rows of weights as they are read: integers times a unit, and hidden units by their sums."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import softhat
from softhat.numerics.formats import format_of
from softhat.transformer.rows import IntegerRow, UnknownShapeError, hidden_units
from softhat.transformer.shape_reader import Reader
from softhat.transformer.shapes import Local, Ramp, Residues, Uniform

FLOAT64 = format_of("float64")


def test_rows_are_integers_times_a_power_of_two() -> None:
    row = IntegerRow(((0, 0.75), (3, -2.0)))
    assert row.quantum == Fraction(1, 4)
    assert row.terms == ((0, 3), (3, -8))
    assert row.largest == 11
    with pytest.raises(UnknownShapeError):
        IntegerRow(((0, 1.0), (1, 2.0**-70)))


@pytest.mark.parametrize(
    ("formula", "shapes"),
    [
        ("a S b", [Local]),
        ("Y a", [Local]),
        ("Y Y Y a", [Residues]),
        ("2*#(a) > #(b)", [Uniform, Ramp]),
    ],
)
def test_shapes(formula: str, shapes: list[type]) -> None:
    t = softhat.compile(formula, alphabet="abc").transformer
    reader = Reader(t, FLOAT64)
    found = [type(head.shape) for k in range(len(t.layers)) for head in reader.heads(k)]
    assert found == shapes


def test_hidden_units_share_sums_and_lose_nothing() -> None:
    t = softhat.compile("(a S b) & Y (a S c) | !(b S a) & a", alphabet="abc").transformer
    rng = np.random.default_rng(1)
    for layer in t.layers:
        x = rng.normal(size=t.d_model)
        dense = layer.out.dense() @ np.maximum(layer.into.dense() @ x + layer.into_bias, 0)
        summed = np.zeros(t.d_model)
        units = hidden_units(layer, FLOAT64)
        assert len({row for row, _ in units}) == len(units)
        for row, shared in units:
            total = sum(w * x[c] for c, w in row)
            for bias, out in shared:
                for c, w in out:
                    summed[c] += w * max(total + bias, 0.0)
        assert np.allclose(summed, dense)
