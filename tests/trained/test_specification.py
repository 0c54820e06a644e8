"""Specifications: what is read, what is refused, what a machine needs."""

from __future__ import annotations

from typing import Any

import pytest

from softhat import SofthatError
from softhat.trained.specification import read_specification
from tests.trained import tiny


def test_round_trip_and_needs() -> None:
    spec = read_specification(tiny.AB)
    assert spec.to_json() == tiny.AB
    assert spec.need.tolist() == [0, 1]
    assert spec.completion(1) == [1]
    assert spec.length(1, 5, "completable") == 6 and spec.length(1, 5, "all") == 5
    assert spec.run([0, 0, 1]) == [0, 1, 1, 0]
    assert spec.reachable(2).tolist() == [[True, False], [False, True], [True, True]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"extra": 1}, "'extra'"),
        ({"decide": "vote"}, "'vote'"),
        ({"start": "q9"}, "no state"),
        ({"bos": 0}, "one token id"),
        ({"bos": -1}, "count from 0"),
        ({"symbols": {}}, "no symbols"),
        ({"next": {"q0": {"z": "q0"}}}, "'z'"),
        ({"next": {"q0": {"a": "q7"}}}, "'q7'"),
        ({"allowed": {"q0": ["z"], "q1": []}}, "'z'"),
        ({"allowed": {"q0": ["a"]}}, "says nothing"),
        ({"decide": "argmax"}, "one answer"),
    ],
)
def test_what_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(SofthatError, match=said) as error:
        read_specification(tiny.AB | change)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("given", [3, [], None, "/nowhere/spec.json"])
def test_no_specification(given: Any) -> None:
    with pytest.raises(SofthatError):
        read_specification(given)
