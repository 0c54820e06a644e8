"""Numerical predicates: what belongs, how they are given, how they are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import softhat
from softhat.io.errors import SofthatError
from softhat.numbers.definitions import define, tabulated
from softhat.numbers.predicates import (
    BuiltIn,
    Listed,
    ListedByLength,
    Periodic,
    Unbound,
    column,
    longest,
    named,
)


def test_forms() -> None:
    assert define("p", "0110(01)") == Periodic("p", "0110", "01")
    assert define("p", "01 10") == Listed("p", "0110")
    assert define("p", [0, True, np.int64(1)]) == Listed("p", "011")
    assert define("p", np.array([False, True])) == Listed("p", "01")
    assert named("prime") == BuiltIn("prime")
    assert named("p") == Unbound("p")
    assert longest(define("p", "011")) == 3
    assert longest(define("p", "(1)")) is None


def test_functions_become_tables() -> None:
    by_position = tabulated(define("p", lambda i: i % 3 == 0), 10)
    assert by_position == Listed("p", "0010010010")
    by_length = tabulated(define("p", lambda i, n: 2 * i > n), 40)
    assert isinstance(by_length, ListedByLength)
    for n in range(1, 41):
        held = column(by_length, np.arange(n + 2), n)
        assert held.tolist() == [1 <= i <= n < 2 * i for i in range(n + 2)]
    assert longest(by_length) == 40
    with pytest.raises(SofthatError, match=r"'p' is a table of 40 positions, and the word has 41"):
        column(by_length, np.arange(1, 42), 41)


@pytest.mark.parametrize(
    "given",
    ["", "012", "01(", "()", "prime", [], [2], ["0"], 5, None, [0.5], lambda: True,
     lambda i, j, k: True],
)  # fmt: skip
def test_what_is_no_predicate(given: Any) -> None:
    with pytest.raises(SofthatError, match="'p'"):
        define("p", given)


def test_refusals() -> None:
    with pytest.raises(SofthatError, match="built in"):
        define("prime", "01")
    with pytest.raises(SofthatError, match="name"):
        define("a:b", "01")
    with pytest.raises(SofthatError, match=r"'q' failed at position 3"):
        column(define("q", lambda i: 1 // (3 - i) > 5), np.arange(1, 5), 4)
    with pytest.raises(SofthatError, match="true or false, not 'x'"):
        column(define("q", lambda i: "x"), np.arange(1, 5), 4)
    with pytest.raises(SofthatError, match="'q' is unknown"):
        column(Unbound("q"), np.arange(1, 5), 4)
    for length in (0, 10**9, "7"):
        with pytest.raises(SofthatError, match="predicate_length"):
            tabulated(define("q", lambda i: True), length)


@pytest.mark.parametrize("name", [[], {}, {"a"}, None, 3, "", "a:b"])
def test_a_name_is_a_text(name: object) -> None:
    with pytest.raises(softhat.SofthatError, match="name is a string"):
        softhat.predicate(name)
