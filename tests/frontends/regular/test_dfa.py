"""Automata as people give them: completed, minimal, refused where they make no sense."""

from __future__ import annotations

import random
from typing import Any

import pytest

import softhat
from softhat import SofthatError
from softhat.frontends.regular.dfa import minimal, read_dfa
from tests.frontends.regular.languages import random_automaton, run, words
from tests.slices import every

WORDS = words("ab", 7, shortest=0)
EVEN: dict[str, Any] = {
    "start": "e",
    "accept": ["e"],
    "transitions": {"e": {"a": "o"}, "o": {"a": "e"}},
}


@pytest.mark.parametrize("seed", every(3, range(30)))
def test_reading_and_minimising_keep_the_language(seed: int) -> None:
    dice = random.Random(seed)
    given = random_automaton(dice, dice.randrange(1, 9), "ab")
    whole = read_dfa(given)
    least = minimal(whole)
    expected = [run(given, word) for word in WORDS]
    assert [whole.accepts(word) for word in WORDS] == expected
    assert [least.accepts(word) for word in WORDS] == expected
    # No two states of the least automaton agree on all words.
    kinds = {tuple(_from(least, state, word) for word in WORDS) for state in range(len(least.step))}
    assert len(kinds) == len(least.step)


def _from(dfa: Any, state: int, word: str) -> bool:
    for symbol in word:
        state = dfa.step[state][dfa.alphabet.index(symbol)]
    return state in dfa.accepting


def test_states_and_alphabet_may_be_left_out() -> None:
    dfa = read_dfa(EVEN)
    assert dfa.alphabet == ("a",)
    assert [dfa.accepts("a" * n) for n in range(4)] == [True, False, True, False]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"start": "x", "states": ["e", "o"]}, "'x' is not among the states"),
        ({"alphabet": ["b"]}, "reads 'a', which is not in the alphabet"),
        ({"alphabet": []}, "empty"),
        ({"alphabet": ["a", "a"]}, "duplicate"),
        ({"alphabet": [1]}, "non-empty strings"),
        ({"accept": "e"}, "accept must be a list"),
        ({"states": ["e", "e", "o"]}, "listed twice"),
        ({"states": ["e"]}, "'o' is not among the states"),
        ({"states": ["e", "o"], "transitions": {"e": {"a": "z"}}}, "unknown state 'z'"),
        ({"transitions": [1]}, "transitions must be"),
        ({"final": []}, "no entry 'final'"),
    ],
)
def test_refusals(change: dict[str, Any], said: str) -> None:
    with pytest.raises(SofthatError, match=said):
        read_dfa({**EVEN, **change})


def test_missing_entries_and_other_types() -> None:
    with pytest.raises(SofthatError, match="no 'accept'"):
        read_dfa({"start": "a", "transitions": {}})
    with pytest.raises(SofthatError, match="not list"):
        read_dfa([])
    with pytest.raises(SofthatError, match="not in the automaton's alphabet"):
        read_dfa(EVEN).accepts("b")


def test_five_thousand_states_are_read_and_refused_where_they_are_too_many() -> None:
    """A cycle takes as many refinements as it has states."""
    names = [str(k) for k in range(5_000)]
    edges = {name: {"a": names[(k + 1) % 5_000]} for k, name in enumerate(names)}
    cycle = {"alphabet": ["a"], "start": "0", "accept": ["0"], "transitions": edges}
    with pytest.raises(SofthatError, match="5,000 states in 6 rounds") as caught:
        softhat.compile(softhat.from_dfa(cycle, depth="log"), max_length=64)
    assert "\n" not in str(caught.value)
