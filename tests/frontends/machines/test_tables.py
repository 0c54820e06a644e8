"""Turing machines from dictionaries: entries that read anything, and what is wrong with others."""

from __future__ import annotations

from typing import Any

import pytest

import softhat
from softhat.io.errors import SofthatError
from tests.frontends.machines.checks import check_decided, check_run

REVERSE: dict[str, Any] = {
    "kind": "turing",
    "tapes": 2,
    "symbols": ["_", "a", "b"],
    "halt": ["h"],
    "space": 16,
    "transitions": [
        ["out", ["a", ""], "out", ["", ""], ["R", "S"]],
        ["out", ["b", ""], "out", ["", ""], ["R", "S"]],
        ["out", ["_", ""], "back", ["", ""], ["L", "S"]],
        ["back", ["a", ""], "back", ["", "a"], ["L", "R"]],
        ["back", ["b", ""], "back", ["", "b"], ["L", "R"]],
        ["back", ["_", ""], "h", ["", ""], ["S", "S"]],
    ],
}


def test_entries_that_read_anything() -> None:
    m = softhat.machine(REVERSE)
    run = check_run(m, "abba" + "ab", 60)
    assert run.tapes == ("abbaab", "baabba")
    check_decided(m)


def test_on_one_tape_they_are_spelled_out() -> None:
    rows = [["a", "", "b", "", "R"], ["b", "x", "b", "_", "R"]]
    m = softhat.machine({"kind": "turing", "blank": "_", "transitions": rows, "space": 16})
    run = check_run(m, "xxx", 9)
    assert (run.tape, run.steps, run.halted) == ("x", 3, True)
    check_decided(m)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (["out", ["a", "a"], "h", ["a", "a"], ["S", "S"]], "deterministic"),
        (["new", [1.5, "a"], "h", "a", ["S", "S"]], "not one entry for each tape"),
        (["new", 1.5, "h", "a", ["S", "S"]], "neither a name"),
    ],
)
def test_entries_that_contradict(entry: list[Any], said: str) -> None:
    given = {**REVERSE, "transitions": [*REVERSE["transitions"], entry]}
    with pytest.raises(SofthatError, match=said):
        softhat.machine(given)


def test_an_input_fills_at_most_the_window() -> None:
    m = softhat.machine(REVERSE)
    assert "full" not in m.prompt("a" * 7)
    with pytest.raises(SofthatError, match="space=32"):
        m.prompt("a" * 8)
