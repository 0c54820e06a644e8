"""Automata and transducers: languages by Python's `re`, functions by plain Python, errors."""

from __future__ import annotations

import re
from itertools import product
from typing import Any, cast

import pytest

import softhat
from softhat.frontends.machines.automaton import Automaton
from softhat.io.errors import SofthatError
from tests.frontends.machines.checks import check_decided, check_run
from tests.slices import every

REGULAR = [
    "(aa)*",
    "(a|b)*abb",
    "(ab|ba)*",
    "((a|b)(a|b)(a|b))*",
    "a*(ba*ba*)*",
    "b?",
    "(b*ab*ab*)*",
]
"""Some of them are not star-free: parity, length modulo 3."""


def walker(given: dict[str, Any], space: int = 32) -> Automaton:
    return cast(Automaton, softhat.machine(given, space=space))


@pytest.mark.parametrize("regex", every(2, REGULAR))
def test_languages(regex: str) -> None:
    m = walker({"kind": "automaton", "regex": regex, "alphabet": "ab"})
    for n in range(6):
        for word in product("ab", repeat=n):
            assert m.run(word).accepted == bool(re.fullmatch(regex, "".join(word)))
    for text in ("", "abb", "baab"):
        assert check_run(m, text, 20).halted
    check_decided(m)


INCREMENT = {
    "kind": "transducer",
    "transitions": [
        ["carry", "0", "copy", "1"],
        ["carry", "1", "carry", "0"],
        ["copy", "0", "copy", "0"],
        ["copy", "1", "copy", "1"],
    ],
    "final": {"carry": "1"},
}
"""Adds one to a number whose lowest digit comes first."""


def test_a_transducer_adds_one() -> None:
    m = walker(INCREMENT)
    for number in range(20):
        digits = f"{number:b}"[::-1]
        assert m.run(digits).output == f"{number + 1:b}"[::-1]
    assert check_run(m, "111", 20).output == "0001"
    check_decided(m)


def test_outputs_of_any_length_and_edges_that_are_not_there() -> None:
    edges = {"0": {"a": ["1", "x"], "b": ["0", ""]}, "1": {"a": ["0", "yy"]}}
    m = walker({"kind": "transducer", "transitions": edges, "final": {"1": "!"}})
    wanted = {"": "", "a": "x!", "aa": "xyy", "bba": "x!", "aabaa": "xyyxyy"}
    for word, output in wanted.items():
        run = check_run(m, word, 20)
        assert (run.output, run.accepted) == (output, True)
    run = check_run(m, "ab", 20)
    assert (run.accepted, run.halted, run.state) == (False, True, "reject")
    check_decided(m)


def test_names_that_are_taken() -> None:
    edges = [
        [
            "accept",
            "_",
            "reject",
        ],
        ["reject", "_", "accept"],
    ]
    m = walker({"kind": "automaton", "transitions": edges, "accept": ["reject"]})
    assert check_run(m, "___", 9).accepted
    assert not check_run(m, "__", 9).accepted
    check_decided(m)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"transitions": []}, "needs transitions"),
        ({"transitions": 3}, "needs transitions"),
        ({"transitions": [["a", "x"]]}, "write \\[state"),
        ({"transitions": {"a": "x"}}, "give a dictionary"),
        ({"transitions": [["a", "x", "a"], ["a", "x", "b"]]}, "deterministic"),
        ({"transitions": [["a", "x", "a"]], "accept": ["q"]}, "none of the automaton's states"),
        ({"transitions": [["a", "x", "a"]], "alphabet": "y"}, "not in the alphabet"),
        ({"transitions": [["a", "x y", "a"]]}, "part of a token"),
        ({"transitions": [["a", "x", "a"]], "accept": 1.5}, "list of names"),
        ({"transitions": [["a", "x", "a"]], "tapes": 2}, "has no 'tapes'"),
        ({"regex": "(a"}, "."),
    ],
)
def test_bad_automata(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SofthatError, match=said) as caught:
        softhat.machine({"kind": "automaton", **given})
    assert "regex" in given or "\n" not in str(caught.value)


def test_bad_inputs() -> None:
    m = walker({"kind": "automaton", "regex": "a*", "alphabet": "ab"}, space=8)
    with pytest.raises(SofthatError, match="none of the machine's"):
        m.run("abc")
    with pytest.raises(SofthatError, match="leaves the window"):
        m.run("aaaa")
