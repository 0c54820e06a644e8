"""Weights as data: sparse tensors, laws of temperature, and what a transformer says of itself."""

from __future__ import annotations

from fractions import Fraction
from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softhat
from softhat.numbers.laws import ONE, Constant, PowerOfTwo, product
from softhat.transformer.weights import (
    Coordinate,
    Sparse,
    inverse_temperature,
    law_of_sharpness,
    scale,
    sharpness_of,
)

entries = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(0, 4)), st.sampled_from([-1.0, 0.0, 0.5, 2.0])
)


@given(entries)
def test_sparse_is_dense(at: dict[tuple[int, int], float]) -> None:
    dense = np.zeros((4, 5))
    for place, value in at.items():
        dense[place] = value
    made = Sparse.of((4, 5), list(at.items())[::-1])
    assert np.array_equal(made.dense(), dense)
    again = Sparse.from_dense(dense)
    assert all(np.array_equal(a, b) for a, b in zip(made.where, again.where, strict=True))
    assert np.array_equal(made.values, again.values) and made.size == 20
    assert np.count_nonzero(dense) == len(made.values)


@given(st.integers(1, 10**12))
def test_p_is_the_next_power_of_two(n: int) -> None:
    p = scale("temperature", n)
    assert p >= n + 2 > p // 2 and p & (p - 1) == 0
    assert scale("unbounded", n) == scale("hard", n) == 1


@given(st.sampled_from([0.5, 1.0, 3.0, 4.0]), st.integers(1, 10**6))
def test_sharpness_is_read_back(c: float, n: int) -> None:
    law = law_of_sharpness(c, "temperature")
    assert sharpness_of(law) == c and law_of_sharpness(c, "unbounded") == ONE
    assert inverse_temperature(law, n) == c * scale("temperature", n)
    assert isnan(sharpness_of(Constant(Fraction(3))))
    assert isnan(sharpness_of(product(Constant(Fraction(2)), PowerOfTwo(3))))


def test_beyond_floats_is_infinite() -> None:
    assert inverse_temperature(Constant(Fraction(10) ** 400), 1) == float("inf")


def test_a_coordinate_is_named_from_a_layer_on() -> None:
    coordinate = Coordinate(((0, "a"), (2, "Y b")))
    assert [coordinate.label(k) for k in range(4)] == ["a", "a", "Y b", "Y b"]
    assert Coordinate(((1, "late"),)).label(0) == ""


def test_size_counts_what_is_stored() -> None:
    model = softhat.compile({"x": "Y a & X b", "y": "#(a) > 2"}, alphabet="ab")
    t = model.transformer
    stored = [t.embedding.dense(), t.position_embedding.dense(), t.readout.dense(), t.readout_bias]
    for layer in t.layers:
        arrays = [getattr(layer, name) for name in layer.tensors]
        stored += [a.dense() if isinstance(a, Sparse) else a for a in arrays]
    assert t.size.parameters == sum(array.size for array in stored)
    assert t.size.heads == sum(layer.query.shape[0] for layer in t.layers)
    assert t.size.d_ff == max(layer.into.shape[0] for layer in t.layers)


def test_the_output_that_is_meant() -> None:
    one = softhat.compile("a", alphabet="ab").transformer
    two = softhat.compile({"x": "a", "y": "b"}, alphabet="ab").transformer
    assert one.output_name(None) == "output" and two.output_name("y") == "y"
    with pytest.raises(softhat.SofthatError, match="several outputs: choose output= one of x, y"):
        two.output_name(None)
    with pytest.raises(softhat.SofthatError, match="no output 'z'"):
        two.output_name("z")
    ahead = softhat.compile("X a", alphabet="ab").transformer
    assert (ahead.own(3), one.own(3)) == (slice(1, 4), slice(1, 4)) and ahead.has_eos
