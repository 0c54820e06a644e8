"""Rows of matrices as linear forms, and as integers times one power of two."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softhat
from softhat.numerics.formats import FORMATS, format_of
from softhat.transformer.rows import (
    IntegerRow,
    UnknownShapeError,
    distinct_rows,
    hidden_units,
    rows_of,
)
from softhat.transformer.weights import Sparse

weights = st.integers(-64, 64).flatmap(lambda k: st.integers(-6, 6).map(lambda p: k * 2.0**p))


entries = st.dictionaries(
    st.tuples(st.integers(0, 3), st.integers(0, 4)), st.sampled_from([-1.0, 0.0, 0.5, 2.0])
)


@given(entries)
def test_distinct_rows(at: dict[tuple[int, int], float]) -> None:
    matrix = Sparse.of((4, 5), at.items())
    rows, share = distinct_rows(matrix)
    assert np.array_equal(rows.dense()[share], matrix.dense())
    assert len({tuple(row) for row in rows.dense().tolist()}) == rows.shape[0] == share.max() + 1


@given(st.lists(weights, max_size=5))
def test_integers_times_a_quantum(values: list[float]) -> None:
    row = IntegerRow(tuple(enumerate(values)))
    found = {c: k * row.quantum for c, k in row.terms}
    assert found == {c: Fraction(w) for c, w in enumerate(values) if w}
    assert row.quantum.numerator & (row.quantum.numerator - 1) == 0
    assert row.largest == sum(abs(k) for _, k in row.terms)
    if row.terms:
        assert any(k % 2 for _, k in row.terms)


def test_plain_rows_and_what_fits_no_integer() -> None:
    assert IntegerRow(((3, 1.0),)).plain == 3 and IntegerRow(((3, 0.5),)).plain == 3
    assert IntegerRow(((3, -1.0),)).plain is IntegerRow(((3, 1.0), (4, 1.0))).plain is None
    with pytest.raises(UnknownShapeError, match="no multiples of one unit"):
        IntegerRow(((0, 1.0), (1, 2.0**63)))
    with pytest.raises(UnknownShapeError, match="beyond the range"):
        IntegerRow(((0, float("inf")),))


@pytest.mark.parametrize("dtype", FORMATS)
def test_rows_are_loaded_in_the_format(dtype: str) -> None:
    form = format_of(dtype)
    matrix = np.array([[0.0, 1 / 3], [2.0, 0.0], [0.0, 0.0]])
    stored = float(form.load(np.array([1 / 3]))[0])
    assert rows_of(Sparse.from_dense(matrix), form) == [((1, stored),), ((0, 2.0),), ()]


def test_hidden_units_by_their_sums() -> None:
    """Summed over all, they are the feed-forward."""
    model = softhat.compile("Y ((Y a | Y b) & c)", alphabet="abc")
    layer = next(x for x in model.transformer.layers if len(x.into_bias))
    x = np.random.default_rng(1).normal(size=model.transformer.d_model)
    total = np.zeros_like(x)
    for row, units in hidden_units(layer, format_of("float64")):
        incoming = sum(w * x[c] for c, w in row)
        for bias, out in units:
            for c, w in out:
                total[c] += w * max(0.0, incoming + bias)
    hidden = np.maximum(layer.into.dense() @ x + layer.into_bias, 0)
    assert np.allclose(total, layer.out.dense() @ hidden)
    sums = [row for row, _ in hidden_units(layer, format_of("float64"))]
    assert len(set(sums)) == len(sums) < len(layer.into_bias)
