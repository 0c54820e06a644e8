"""Weights and ε at the ends of float64's range: an answer or one line, never a raw error."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import product

import pytest

import softhat
from softhat.ahat.builder import Builder
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.float64_range import in_range
from softhat.io.errors import SofthatError
from tests.slices import every


def extreme(x: str, where: str) -> AHAT:
    """One head that takes the last token, with one weight (or two) of this size."""
    b, size = Builder("ab"), Fraction(x)
    a, i = b.token("a"), b.position("i")
    score = [(size, i * size)] if where == "score" else [(1, i)]
    value = a * size if where == "value" else a
    last = b.head("<=", value={"last": value}, score=score)["last"]
    b.output((last * size if where == "output" else last) - Fraction(1, 3))
    return b.build()


@pytest.mark.parametrize(
    ("x", "where", "max_length"),
    every(5, product(["1e170", "1e-170", "1e400"], ["value", "score", "output"], [None, 4])),
)
def test_extreme_weights(x: str, where: str, max_length: int | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for epsilon in (1e-3, None):
            try:
                s = softhat.simulate(extreme(x, where), max_length=max_length, epsilon=epsilon)
                assert min(s.certificate.max_length.values()) >= 0
            except SofthatError as error:
                assert "\n" not in str(error)


def test_no_warnings_before_the_one_line() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SofthatError, match="beyond the range of float64"):
            softhat.simulate(extreme("1e400", "value"), max_length=5)


@pytest.mark.parametrize("name", every(2, ["last-token", "induction-average", "histogram"]))
@pytest.mark.parametrize("max_length", [None, 4])
@pytest.mark.parametrize("epsilon", [5e-324, 1e-308, 1e300])
def test_extreme_epsilons(epsilon: float, max_length: int | None, name: str) -> None:
    if epsilon > 1:
        s = softhat.simulate(GALLERY[name](), max_length=max_length, epsilon=epsilon)
        assert s.certificate.error <= epsilon
        return
    with pytest.raises(SofthatError, match="epsilon must be at least"):
        softhat.simulate(GALLERY[name](), max_length=max_length, epsilon=epsilon)


def test_other_errors_are_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError), in_range(GALLERY["last-token"](), 1e-3):
        raise ZeroDivisionError
    with (
        pytest.raises(SofthatError, match="beyond the range"),
        in_range(extreme("1e400", "value"), 1e-3),
    ):
        raise ZeroDivisionError


def test_a_length_is_granted_where_the_law_is_proved() -> None:
    """No constant β is certified for so small an ε, but the law for every length is."""
    source = GALLERY["induction-average"]()
    assert softhat.simulate(source, epsilon=1e-200).certificate.guarantee == "proved_all"
    assert softhat.simulate(source, max_length=4, epsilon=1e-200).certificate.error <= 1e-200
