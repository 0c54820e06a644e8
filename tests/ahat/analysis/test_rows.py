"""Critical β: the root of the equality of one row, for every score family of the design."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat import SofthatError
from softhat.ahat.analysis.gaps import proved_gaps
from softhat.ahat.analysis.rows import Profile, critical_beta
from softhat.ahat.gallery import GALLERY
from tests.slices import examples

FAMILIES = {
    "j": lambda n: [float(k) for k in range(1, n)],
    "integer quadratic": lambda n: sorted(
        float(k * k) for k in list(range(1, n // 2 + 1)) + list(range(1, n - n // 2))
    ),
    "match": lambda n: [1.0] * (n - 1),
    "j/n": lambda n: [k / n for k in range(1, n)],
    "-1/j": lambda n: [1 / (n - k) - 1 / n for k in range(1, n)],
    "(i/n) quadratic": lambda n: [
        (k / n) ** 2 for k in list(range(1, n // 2 + 1)) + list(range(1, n - n // 2))
    ],
}


@pytest.mark.parametrize("n", [2, 3, 17, 256, 4096])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_root_of_the_equality(family: str, n: int) -> None:
    gaps = FAMILIES[family](n)
    for leak in (1e-2, 1e-6):
        beta = critical_beta(gaps, leak)
        with mpmath.workdps(30):
            total = mpmath.fsum(mpmath.e ** (-mpmath.mpf(beta) * mpmath.mpf(g)) for g in gaps)
            target = mpmath.mpf(leak) / (1 - mpmath.mpf(leak))
            slope = mpmath.fsum(
                mpmath.mpf(g) * mpmath.e ** (-mpmath.mpf(beta) * mpmath.mpf(g)) for g in gaps
            )
            off = (total - target) / slope  # how far the exact root is, to first order
        assert abs(off) <= 1e-9 * max(1.0, beta)


def test_closed_forms() -> None:
    e = 1e-3
    for n in (2, 64, 4096):
        assert critical_beta([1.0] * (n - 1), e) == pytest.approx(
            math.log((n - 1) * (1 / e - 1)), rel=1e-12
        )
    assert critical_beta(FAMILIES["j"](4096), e) == pytest.approx(math.log(1 / e), rel=1e-9)
    assert critical_beta(FAMILIES["j/n"](4096), e) == pytest.approx(
        4096 * math.log(1 / e), rel=1e-9
    )
    # -1/j: n(n-1) ln(1/e) for large n
    law = 4096 * 4095 * math.log(1 / e)
    assert critical_beta(FAMILIES["-1/j"](4096), e) == pytest.approx(law, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "family"), [("last-token", "j/n"), ("last-by-inverse", "-1/j"), ("first-token", "j")]
)
def test_the_gallery_follows_its_family(name: str, family: str) -> None:
    model = GALLERY[name]()
    for n in (2, 9, 33):
        found = proved_gaps(model, n).critical_beta[0, 0]
        assert found == pytest.approx(critical_beta(FAMILIES[family](n), 1e-3), rel=1e-9)


@examples(120)
@given(
    st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30),
    st.floats(1e-9, 0.9),
    st.integers(1, 5),
)
def test_the_leak_is_an_equality(gaps: list[float], leak: float, winners: int) -> None:
    beta = critical_beta(gaps, leak, winners)
    rest = math.fsum(math.exp(-beta * g) for g in gaps)
    assert rest / (winners + rest) <= leak * (1 + 1e-9)
    if beta > 0:  # and a little less β leaks more
        rest = math.fsum(math.exp(-beta * (1 - 1e-6) * g) for g in gaps)
        assert rest / (winners + rest) > leak * (1 - 1e-6)


def test_profiles() -> None:
    profile = Profile(1, ((Fraction(1, 2), 3), (Fraction(2), 1)))
    beta = profile.critical_beta(1e-4)
    assert profile.leak(beta) == pytest.approx(1e-4, rel=1e-9)
    assert profile.leak(0.0) == pytest.approx(4 / 5)
    tiny = critical_beta([2.0**-900], 1e-3)
    assert tiny == pytest.approx(math.log(999) * 2.0**900, rel=1e-12)
    assert critical_beta([], 1e-3) == 0
    assert critical_beta([1.0, np.inf], 0.6) == 0.0  # β = 0 leaks half
    with pytest.raises(SofthatError, match="strictly between 0 and 1"):
        critical_beta([1.0], 0.0)
