"""Machines of formulas, expressions and automata, against their own meaning on all short words."""

from __future__ import annotations

from itertools import product

import pytest

import softhat
from softhat import SofthatError


def _words(length: int) -> list[str]:
    return ["".join(word) for n in range(length + 1) for word in product("ab", repeat=n)]


@pytest.mark.parametrize(
    "formula",
    ["a", "!b S a", "H (a -> Y b)", "O a & !O b", "mod(3, 1)", "Y Y a", "#(a) > #(b)",
     "2*#(a) <= i", "first | (a S Y b)", "H #(a) >= #(b)"],
)  # fmt: skip
def test_formulas(formula: str) -> None:
    parsed = softhat.parse(formula)
    spec = softhat.spec(formula, alphabet="ab", up_to=8)
    truth = softhat.spec(formula, alphabet="ab", up_to=8, answers="truth")
    belongs = {word: bool(word) and bool(parsed.truth(word)[-1]) for word in _words(10)}
    for word in _words(5):
        numbers = ["ab".index(c) for c in word]
        if word:
            answer = truth.allowed[truth.run(numbers)[-1]]
            assert answer == {int(belongs[word])}
        states = spec.run(numbers)
        goes_on = any(belongs[other] for other in belongs if other.startswith(word))
        if not goes_on:
            continue  # whether longer words complete it is not seen here
        assert len(states) == len(word) + 1
        assert (spec.eos in spec.allowed[states[-1]]) == belongs[word]


def test_expressions_and_automata_agree() -> None:
    one = softhat.spec(regex="(ab)*", alphabet="ab")
    other = softhat.spec(
        dfa={"start": "0", "accept": ["0"], "transitions": {"0": {"a": "1"}, "1": {"b": "0"}}}
    )
    assert one.to_json() == other.to_json()
    assert one.to_json()["next"] == {"q0": {"a": "q1"}, "q1": {"b": "q0"}}
    assert one.to_json()["allowed"] == {"q0": ["a", "<eos>"], "q1": ["b"]}


def test_token_ids() -> None:
    spec = softhat.spec("a", symbols={"b": 7, "a": 4}, bos=1, eos=9)
    assert spec.to_json()["symbols"] == {"b": 7, "a": 4}
    assert (spec.bos, spec.eos) == (1, 9)


@pytest.mark.parametrize("formula", ["X a", "F a", "#*(a) > 2", "last", "at(prime)"])
def test_what_looks_ahead(formula: str) -> None:
    with pytest.raises(SofthatError, match="looks back only"):
        softhat.spec(formula, alphabet="ab")


def test_nothing_to_prove() -> None:
    with pytest.raises(SofthatError, match="no word"):
        softhat.spec("a & !a", alphabet="ab")
    with pytest.raises(SofthatError, match="one of"):
        softhat.spec()
