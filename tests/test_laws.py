"""Laws: values against arithmetic done here, logarithms, text, JSON."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

from softhat import SofthatError
from softhat.laws import (
    Constant,
    Law,
    Lcm,
    Length,
    N,
    PowerOfTwo,
    Tabled,
    as_law,
    from_json,
    log,
    maximum,
    rounded_up,
    total,
)

EXAMPLES: list[tuple[Law, object, str]] = [
    (as_law(Fraction(3, 2)), lambda n: Fraction(3, 2), "3/2"),
    (N, lambda n: n, "n"),
    (Length(-1), lambda n: max(1, n - 1), "n-1"),
    (N**2, lambda n: n * n, "n²"),
    (1 / N, lambda n: Fraction(1, n), "1/n"),
    (1 / Length(1), lambda n: Fraction(1, n + 1), "1/(n+1)"),
    (2 / (N * Length(-1)), lambda n: Fraction(2, n * max(1, n - 1)), "2/(n·(n-1))"),
    (1 / (N**2 * Lcm()), lambda n: Fraction(1, n * n * math.lcm(*range(1, n + 1))),
     "1/(n²·lcm(1..n))"),
    (Length(1) ** 3, lambda n: (n + 1) ** 3, "(n+1)³"),
    (PowerOfTwo(2), lambda n: min(2**k for k in range(40) if 2**k >= n + 2), "2^⌈log2(n+2)⌉"),
    (3 * N + 1, lambda n: 3 * n + 1, "3·n + 1"),
    (total(N, N, as_law(3)), lambda n: 2 * n + 3, "2·n + 3"),
    ((3 * N + 1) * N, lambda n: (3 * n + 1) * n, "(3·n + 1)·n"),
    (maximum(N, as_law(5), as_law(7)), lambda n: max(n, 7), "max(n, 7)"),
    (N / (2 * N), lambda n: Fraction(1, 2), "1/2"),
    (Lcm(1), lambda n: math.lcm(*range(1, n + 2)), "lcm(1..n+1)"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("law", "expected", "text"), EXAMPLES, ids=[text for _, _, text in EXAMPLES]
)
def test_values_logarithms_text_and_json(law: Law, expected, text: str) -> None:  # type: ignore[no-untyped-def]
    for n in (1, 2, 3, 7, 16, 50):
        assert law.at(n) == expected(n)
        assert isinstance(law.at(n), Fraction)
        assert law.log_at(n) == pytest.approx(math.log(expected(n)), abs=1e-12)
    assert law.text == text
    assert from_json(json.loads(json.dumps(law.to_json()))) == law


def test_logarithms_and_rounding() -> None:
    law = rounded_up(N**2 * log(1000 * N))
    assert law.text == "n²·ln(1000·n)"
    assert from_json(law.to_json()) == law
    for n in (1, 2, 9, 1000, 10**6):
        exact = n * n * math.log(1000 * n)
        value = law.at(n)
        assert exact <= value <= exact * (1 + 1 / 32)
        top = Fraction(value).numerator
        assert (top // (top & -top)).bit_length() <= 6


def test_astronomical_values_stay_finite_in_logarithms() -> None:
    law = rounded_up(N * Lcm() * log(1000 * N))
    assert law.at(10**6) == math.inf
    assert 0.9e6 < law.log_at(10**6) < 1.1e6  # Chebyshev: lcm(1..n) is about e^n
    # 2^(n-1) ≤ lcm(1..n) < 3^n (Hanson 1972), at any n
    for n in (10, 1000, 12345):
        assert (n - 1) * math.log(2) <= Lcm().log_at(n) < n * math.log(3)
    assert (1 / Lcm()).log_at(5000) == -Lcm().log_at(5000)


def test_tables_then_a_law() -> None:
    law = Tabled((Fraction(1), Fraction(3, 2)), N**2)
    assert [law.at(n) for n in (1, 2, 3)] == [1, Fraction(3, 2), 9]
    assert from_json(law.to_json()) == law


@pytest.mark.parametrize(
    "data",
    [None, 3, "x", "0", "-1", "1/0", {}, {"n": "1"}, {"n": True}, {"sum": []},
     {"sum": ["1"], "n": 0},
     {"power": ["1", "2"]}, {"power": ["1"]}, {"rounded_up": ["1", 0]}, {"eval": "1"},
     {"lcm": 10**9}, [], {"table": ["a"], "beyond": "1"}],
    ids=str,
)  # fmt: skip
def test_what_is_no_law_is_refused(data: object) -> None:
    with pytest.raises(SofthatError):
        from_json(data)


def test_deep_nesting_is_refused() -> None:
    data: object = "2"
    for _ in range(1000):
        data = {"log": data}
    with pytest.raises(SofthatError, match="nested"):
        from_json(data)


def test_laws_are_positive() -> None:
    with pytest.raises(SofthatError, match="positive"):
        as_law(0)
    assert as_law(2) == Constant(Fraction(2))
