"""The facts of number formats are those that NumPy and ml_dtypes know."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.numerics.formats import FORMATS

TYPES = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float64": np.float64,
}


@pytest.mark.parametrize("form", FORMATS.values(), ids=lambda form: form.name)
def test_facts(form: object) -> None:
    from softhat.numerics.formats import Format

    assert isinstance(form, Format)
    known = ml_dtypes.finfo(form.storage)
    assert form.digits == known.nmant + 1
    assert form.sum_digits == np.finfo(form.accumulate).nmant + 1
    assert form.largest == float(known.max)
    assert form.normal == float(known.smallest_normal)
    assert form.smallest == float(known.smallest_subnormal)
    with np.errstate(under="ignore"):
        assert np.exp(form.accumulate(-form.lost)) == 0
        assert np.exp(form.accumulate(1.5 - form.lost)) > 0


@pytest.mark.parametrize("name", FORMATS)
def test_the_facts_are_the_format_s(name: str) -> None:
    form, info = FORMATS[name], ml_dtypes.finfo(TYPES[name])
    assert form.digits == info.nmant + 1
    assert form.largest == float(info.max) and form.normal == float(info.tiny)
    assert form.smallest == float(info.smallest_subnormal)
    wide = ml_dtypes.finfo(np.float64 if name == "float64" else np.float32)
    assert form.sum_digits == wide.nmant + 1 and form.summed.largest == float(wide.max)
    assert form.summed.smallest == float(wide.smallest_subnormal)


@pytest.mark.parametrize("name", FORMATS)
@given(count=st.integers(1, 2**60), power=st.integers(-160, 60), size=st.integers(1, 2**60))
def test_what_is_held_is_representable(name: str, count: int, power: int, size: int) -> None:
    """All multiples of a power of two up to a size, if `holds` says so."""
    form, grid = FORMATS[name], 2.0**power
    limit = size * grid
    if form.holds(limit, grid):
        value = min(count, size) * grid
        assert form.stored(value) == value


@pytest.mark.parametrize("name", FORMATS)
@given(st.floats(1e-30, 1e30))
def test_rounding_is_within_u(name: str, x: float) -> None:
    form = FORMATS[name]
    stored = form.stored(x)
    if form.normal <= x <= form.largest:
        off = abs(Fraction(stored) - Fraction(x))
        assert off <= Fraction(2.0**-form.digits) * Fraction(x)
        assert off <= Fraction(form.roundoff(x)) * Fraction(x)


@pytest.mark.parametrize("name", FORMATS)
@given(a=st.floats(1e-20, 1e20), b=st.floats(1e-20, 1e20))
def test_a_sum_is_off_by_half_its_grid(name: str, a: float, b: float) -> None:
    form = FORMATS[name]
    accumulate = np.float64 if name == "float64" else np.float32
    x, y = accumulate(a), accumulate(b)
    exact = Fraction(float(x)) + Fraction(float(y))
    off = abs(Fraction(float(x + y)) - exact)
    assert off <= Fraction(form.grid(float(exact))) / 2


def test_weights_beyond_visible_vanish() -> None:
    for name, form in FORMATS.items():
        assert float(np.asarray(np.exp(-form.visible * 1.0001)).astype(TYPES[name])) == 0.0
        assert float(np.asarray(np.exp(-form.visible + 1)).astype(TYPES[name])) > 0.0


def test_what_is_kept_as_summed_has_no_error_of_its_own() -> None:
    assert [FORMATS[name].u for name in ("float32", "float64")] == [0.0, 0.0]
    assert FORMATS["float16"].u == 2.0**-11 and FORMATS["bfloat16"].u == 2.0**-8
