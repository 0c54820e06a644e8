"""Theorem 41 against its own words: pointers and functions, position by position."""

from __future__ import annotations

import random

import numpy as np
import pytest

import softhat
from softhat.frontends.regular.pointers import State, rounds
from softhat.program.evaluate import outputs
from softhat.program.literals import Literal
from tests.frontends.regular.test_doubling import expected, random_automaton, word_problem


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_what_positions_hold_after_some_rounds(count: int) -> None:
    """The pointer is max(i - 2^k, 0); the function is what the last 2^k symbols do, and constant
    where fewer stand there."""
    given = random_automaton(5, "ab", 7)
    language = softhat.from_dfa(given, depth="log")
    made = rounds(language, "ab", count, digits=5)
    last = made.states[-1]
    program = made.program
    word = random.Random(count).choices("ab", k=19)
    names = {f"{at}": Literal(at, True) for at in last.places}
    asked = type(program)(
        program.signals, program.labels, tuple(names.items()), program.symbols, False
    )
    columns = outputs(asked, np.array(["ab".index(s) for s in word]))

    def number(places: tuple[int, ...], i: int) -> int:
        return sum(int(columns[str(at)][i - 1]) << b for b, at in enumerate(places))

    dfa = language.dfa
    place = {symbol: k for k, symbol in enumerate(dfa.alphabet)}
    for i in range(1, 20):
        assert number(last.pointer, i) == max(i - 2**count, 0)
        for start in range(len(dfa.step)):
            state = 0 if i < 2**count else start
            for symbol in word[max(0, i - 2**count) : i]:
                state = dfa.step[state][place[symbol]]
            assert number(last.function[start], i) == state
            accepts = bool(columns[str(last.accepts[start])][i - 1])
            assert accepts == (state in dfa.accepting)


def test_all_rounds_of_a_program_decide_the_language() -> None:
    given = random_automaton(4, "abc", 3)
    program = rounds(softhat.from_dfa(given, depth="log"), "abc", 4, digits=4).program
    for seed in range(5):
        word = "".join(random.Random(seed).choices("abc", k=15))
        found = outputs(program, np.array(["abc".index(s) for s in word]))["member"]
        assert found.tolist() == expected(given, word)


def test_states_list_their_places_in_order() -> None:
    assert State(((1, 2), (3, 4)), (5, 6), (7,)).places == (1, 2, 3, 4, 5, 6, 7)


def test_an_automaton_that_is_too_large_is_refused_in_one_line() -> None:
    s5 = [(1, 0, 2, 3, 4), (1, 2, 3, 4, 0)]
    language = softhat.from_dfa(word_problem(s5, "ab"), depth="log")
    with pytest.raises(softhat.SofthatError, match="120 states need a block of up to"):
        softhat.compile(language)


def test_another_alphabet_is_refused() -> None:
    with pytest.raises(softhat.SofthatError, match="must be the language's: a, not a b"):
        softhat.compile(softhat.from_regex("(aa)*", depth="log"), alphabet="ab")
