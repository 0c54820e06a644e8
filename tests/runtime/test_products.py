"""Products in strips and entry by entry are the product."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softhat.numerics.formats import FORMATS, format_of
from softhat.runtime import products
from softhat.runtime.products import SparseProduct, product
from softhat.transformer.weights import Sparse


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 50), st.integers(1, 200))
@settings(max_examples=40)
def test_strips(rows: int, inner: int, columns: int, strip: int) -> None:
    """Integers: every way of adding is exact."""
    rng = np.random.default_rng(rows * 100 + columns)
    a, b = rng.integers(-9, 10, (rows, inner)), rng.integers(-9, 10, (inner, columns))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "STRIP", strip)
        for left, right in ((a, b), (b.T, a.T)):
            found = product(left.astype(np.float32), right.astype(np.float32))
            assert np.array_equal(found, left @ right)


@pytest.mark.parametrize("strip", [10, 1 << 18])
def test_stacks(strip: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each product of a stack is the one of its two matrices alone, to the last bit."""
    monkeypatch.setattr(products, "STRIP", strip)
    rng = np.random.default_rng(4)
    for dtype in (np.float32, np.float64):
        for rows, inner, columns in ((128, 3, 128), (77, 128, 2), (5, 4, 130)):
            a = rng.normal(size=(3, rows, inner)).astype(dtype)
            b = rng.normal(size=(3, inner, columns)).astype(dtype)
            both = zip(a, b, strict=True)
            assert np.array_equal(products.products(a, b), [product(x, y) for x, y in both])


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("positions", [3, 700])
@pytest.mark.parametrize("share", [0.05, 0.9])
def test_dense_and_sparse_are_the_same(dtype: str, positions: int, share: float) -> None:
    rng = np.random.default_rng(8)
    form = format_of(dtype)
    matrix = rng.integers(-3, 4, (6, 10)) * (rng.random((6, 10)) < share)
    x = rng.integers(-4, 5, (10, positions)).astype(form.accumulate)
    assert np.array_equal(SparseProduct(Sparse.from_dense(matrix), form)(x), matrix @ x)


def test_long_rows_are_summed_in_float64() -> None:
    """2^24 + 1 - 2^24 is 0 in float32; a row of more than `many` entries keeps the 1."""
    form = format_of("float32")
    matrix = Sparse.from_dense(np.ones((1, 3)))
    x = np.array([[2.0**24], [1.0], [-(2.0**24)]], np.float32)
    wide = SparseProduct(matrix, form, many=2)(x)
    exact = sum(Fraction(float(v)) for v in x[:, 0])
    assert Fraction(float(wide[0, 0])) == exact == 1
    assert SparseProduct(matrix, form, many=3)(x).dtype == np.float32


def test_weights_are_loaded_as_stored() -> None:
    third = SparseProduct(Sparse.from_dense(np.array([[1 / 3]])), format_of("bfloat16"))
    assert float(third(np.ones((1, 1), np.float32))[0, 0]) == 0.333984375


def test_threads_never_see_a_matrix_half_filled() -> None:
    """The first products of one matrix, taken by eight threads at the same time."""
    matrix = np.ones((200, 200))
    form, before = format_of("float32"), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            for _ in range(40):
                linear, ready = SparseProduct(Sparse.from_dense(matrix), form), Barrier(8)

                def first(linear: SparseProduct = linear, ready: Barrier = ready) -> float:
                    ready.wait()
                    return float(linear(np.ones((200, 1), np.float32)).min())

                assert {t.result() for t in [threads.submit(first) for _ in range(8)]} == {200.0}
    finally:
        sys.setswitchinterval(before)
