"""Bits and integers read from columns: exact, or an error that says what to do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.io.errors import SofthatError
from softhat.runtime.linear.columns import Column, View
from softhat.transformer.rows import IntegerRow

columns = st.lists(
    st.none() | st.lists(st.integers(0, 1), min_size=5, max_size=5), min_size=3, max_size=3
)


def view(drawn: list[list[int] | None]) -> tuple[View, np.ndarray]:
    made: list[Column] = [None if c is None else np.array(c, np.float32) for c in drawn]
    plain = np.array([[0] * 5 if c is None else c for c in drawn])
    return View(made, 5), plain


@given(columns, st.lists(st.sampled_from([-2.0, -1.0, 0.0, 1.0, 4.0]), min_size=3, max_size=3))
def test_sums_are_the_sums(drawn: list[list[int] | None], weights: list[float]) -> None:
    seen, plain = view(drawn)
    row = IntegerRow(tuple(enumerate(weights)))
    found = seen.sums(row) * float(row.quantum)
    assert np.array_equal(found, np.array(weights) @ plain)


@given(columns, st.integers(0, 2), st.integers(0, 2))
def test_a_row_that_is_a_bit(drawn: list[list[int] | None], c: int, d: int) -> None:
    seen, plain = view(drawn)
    assert np.array_equal(seen.bits(IntegerRow(((c, 1.0),))), plain[c])
    if c == d:
        return
    total = plain[c] - plain[d]
    if set(total.tolist()) <= {0, 1}:
        assert np.array_equal(seen.bits(IntegerRow(((c, 1.0), (d, -1.0)))), total)
    else:
        with pytest.raises(SofthatError, match="a stored bit came out as"):
            seen.bits(IntegerRow(((c, 1.0), (d, -1.0))))


def test_what_is_no_bit_is_an_error() -> None:
    broken = View([np.array([0.0, 0.9, 1.0])], 3)
    with pytest.raises(SofthatError, match=r"came out as 0\.9 instead of 0 or 1.*wider dtype"):
        broken.bits(IntegerRow(((0, 1.0),)))
    assert broken.floats(0) == pytest.approx([0.0, 0.9, 1.0])
    assert View([None], 3).floats(0) == 0.0
