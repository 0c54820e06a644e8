"""Integers of any size as decimal text, where Python's own conversion is allowed to run."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.logic.syntax.decimals import to_digits, to_integer


@given(st.integers())
def test_small_ones_are_python_s(value: int) -> None:
    assert to_digits(value) == str(value)
    if value >= 0:
        assert to_integer(str(value)) == value


@pytest.mark.parametrize("digits", [599, 600, 601, 1201, 4299, 4301, 30_001])
def test_large_ones(digits: int) -> None:
    """With zeros inside, where halves begin."""
    limit = sys.get_int_max_str_digits()
    for text in ("9" * digits, "1" + "0" * (digits - 1), ("10203" * digits)[:digits]):
        value = to_integer(text)
        assert to_digits(value) == text and to_digits(-value) == f"-{text}"
        try:
            sys.set_int_max_str_digits(0)
            assert value == int(text)
        finally:
            sys.set_int_max_str_digits(limit)
    assert to_integer("000" + "7" * digits) == to_integer("7" * digits)
