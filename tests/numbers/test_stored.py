"""What files say of position features and predicates."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.io.errors import SofthatError
from softhat.numbers.definitions import define, tabulated
from softhat.numbers.positions import Feature, Mod, Named, text
from softhat.numbers.predicates import BuiltIn
from softhat.numbers.stored import (
    from_json,
    from_name,
    number_from_json,
    number_to_json,
    predicate_from,
    to_json,
)
from tests.numbers.test_positions import FEATURES


@pytest.mark.parametrize(
    "feature", [*FEATURES, Named("i", scaled=True), Mod(5, 2, sinks=False)], ids=text
)
def test_files_give_a_feature_back(feature: Feature) -> None:
    assert from_json(to_json(feature), "here") == feature


@pytest.mark.parametrize(
    "feature",
    [Named("(-1)^i", scaled=True), Named("last"), Mod(12, 5, sinks=False)],
    ids=text,
)
def test_names_of_old_folders_are_read(feature: Feature) -> None:
    assert from_name(text(feature)) == feature


@pytest.mark.parametrize(
    "data",
    [
        "j",
        {"name": "j", "over": "P"},
        {"name": "i", "over": "Q"},
        {"mod": [3, 3]},
        {"mod": [3.0, 1]},
        {"mod": [3, 1], "sinks": True, "x": 1},
        {"table": [0.5]},
        {"table": "12"},
        {},
        7,
        None,
    ],
)
def test_bad_files_are_refused(data: object) -> None:
    with pytest.raises(SofthatError, match="here"):
        from_json(data, "here")


@pytest.mark.parametrize(
    "predicate",
    [
        BuiltIn("prime"),
        define("p", "0110(01)"),
        define("p", "(1)"),
        define("p", [0, 1, 1]),
        tabulated(define("p", lambda i, n: i == n), 33),
    ],
    ids=["built-in", "periodic", "only a period", "table", "by length"],
)
def test_files_give_a_predicate_back(predicate: Any) -> None:
    assert predicate_from(predicate.to_json(), "here") == predicate


def test_bad_predicates_are_refused() -> None:
    for data in ({}, {"predicate": "q"}, {"predicate": "q", "longest": 3, "by_length": "AA"},
                 {"predicate": "q", "longest": 3, "by_length": "!"}):  # fmt: skip
        with pytest.raises(SofthatError, match="here"):
            predicate_from(data, "here")


@given(st.fractions(-50, 50, max_denominator=60))
def test_json_keeps_every_digit(x: Fraction) -> None:
    assert number_from_json(number_to_json(x), "here") == x


@pytest.mark.parametrize("data", [0.5, None, True, "1/0", "x", "1e3", "١", "", "9" * 5000])
def test_what_is_no_exact_number(data: object) -> None:
    with pytest.raises(SofthatError, match="here"):
        number_from_json(data, "here")
