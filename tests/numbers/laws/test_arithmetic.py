"""Laws by arithmetic: values against arithmetic done here, logarithms, text, JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from softhat import SofthatError
from softhat.numbers.laws import (
    Constant,
    Law,
    Lcm,
    Length,
    N,
    PowerOfTwo,
    as_law,
    from_json,
    maximum,
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
def test_values_logarithms_text_and_json(
    law: Law, expected: Callable[[int], Fraction], text: str
) -> None:
    for n in (1, 2, 3, 7, 16, 50):
        assert law.at(n) == expected(n)
        assert isinstance(law.at(n), Fraction)
        assert law.log_at(n) == pytest.approx(math.log(expected(n)), abs=1e-12)
    assert law.text == text
    assert from_json(json.loads(json.dumps(law.to_json()))) == law


def test_laws_are_positive() -> None:
    with pytest.raises(SofthatError, match="positive"):
        as_law(0)
    assert as_law(2) == Constant(Fraction(2))
