"""Star-free or not: by brute force on small automata, and every counter replays."""

from __future__ import annotations

import pickle
import random
from itertools import product
from typing import Any

import pytest

import softhat
from softhat import NotStarFreeError, SofthatError
from softhat.frontends.regular.dfa import DFA, minimal, read_dfa
from softhat.frontends.regular.monoid import find_counter, modulus_of
from softhat.frontends.regular.regex import read_regex
from tests.frontends.regular.languages import random_automaton
from tests.slices import every


def random_dfa(seed: int) -> DFA:
    dice = random.Random(seed)
    states = dice.randrange(2, 6)
    step = tuple(tuple(dice.randrange(states) for _ in "ab") for _ in range(states))
    accepting = frozenset(q for q in range(states) if dice.random() < 0.5)
    return minimal(DFA(("a", "b"), 0, accepting, step))


def replay(dfa: DFA, error: NotStarFreeError, rounds: int = 4) -> None:
    x, u, y, p = error.prefix, error.loop, error.suffix, error.period
    assert p > 1
    assert len(u) > 0
    for k in range(rounds):
        even = [*x, *(list(u) * (k * p)), *y]
        odd = [*x, *(list(u) * (k * p + 1)), *y]
        assert dfa.accepts(even) != dfa.accepts(odd)


def permuting_word(dfa: DFA, longest: int) -> str | None:
    """By brute force: the first word that takes a state around a cycle."""
    for n in range(1, longest + 1):
        for word in product(range(len(dfa.alphabet)), repeat=n):
            for state in range(len(dfa.step)):
                seen = [state]
                for _ in range(len(dfa.step)):
                    now = seen[-1]
                    for k in word:
                        now = dfa.step[now][k]
                    seen.append(now)
                if seen.index(seen[-1]) < len(seen) - 2 and seen[-1] != seen[-2]:
                    return "".join(dfa.alphabet[k] for k in word)
    return None


@pytest.mark.parametrize("seed", every(3, range(150)))
def test_counters_are_found_and_replay(seed: int) -> None:
    dfa = random_dfa(seed)
    brute = permuting_word(dfa, 6)
    counter = find_counter(dfa)
    if brute is not None:
        assert counter is not None
        assert len(counter.loop) == len(brute)
    if counter is None:
        return
    with pytest.raises(NotStarFreeError) as caught:
        softhat.from_dfa(dfa)
    replay(dfa, caught.value)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1_000, 3_000))
def test_many_counters(seed: int) -> None:
    dfa = random_dfa(seed)
    if find_counter(dfa) is None:
        assert permuting_word(dfa, 5) is None
        return
    with pytest.raises(NotStarFreeError) as caught:
        softhat.from_dfa(dfa)
    replay(dfa, caught.value)


@pytest.mark.parametrize("seed", every(3, range(50)))
def test_recipes_without_counters_have_none(seed: int) -> None:
    dice = random.Random(seed)
    given = random_automaton(dice, dice.randrange(2, 9), "abc")
    assert find_counter(minimal(read_dfa(given))) is None


@pytest.mark.parametrize(
    ("text", "loop", "period"),
    [
        ("(aa)*", "a", 2),
        ("(aaa)*", "a", 3),
        ("(b*ab*a)*b*", "a", 2),  # PARITY
        ("((a|b)(a|b))*", "a", 2),
        ("(aa|bb)*", "a", 2),
        ("(a(bb)*)*", "b", 2),
    ],
)
def test_known_counters(text: str, loop: str, period: int) -> None:
    with pytest.raises(NotStarFreeError, match="not star-free") as caught:
        softhat.from_regex(text)
    assert (caught.value.loop, caught.value.period) == (loop, period)
    replay(read_regex(text), caught.value)


def test_long_symbols_come_as_tuples_and_errors_pickle() -> None:
    with pytest.raises(NotStarFreeError) as caught:
        softhat.from_regex("('on''on')*")
    assert caught.value.loop == ("on",)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.period) == (str(caught.value), 2)


@pytest.mark.parametrize(
    ("text", "modulus"),
    [("(aa)*", 2), ("(...)*", 3), ("(aa)*b*", 2), ("(b*ab*a)*b*", None), ("(aab|bba)*", 3)],
)
def test_the_modulus_of_a_language(text: str, modulus: int | None) -> None:
    stable = modulus_of(read_regex(text, "ab"))
    assert (stable is None) == (modulus is None)
    assert modulus is None or (stable is not None and stable % modulus == 0)


def test_what_helps_is_said() -> None:
    with pytest.raises(NotStarFreeError, match="mod=True"):
        softhat.from_regex("(aa)*")
    with pytest.raises(NotStarFreeError, match=r"F \(2\*#\(a\) = #\*\(a\)\)"):
        softhat.from_regex("(b*ab*a)*b*", mod=True)


def test_large_automata_are_refused() -> None:
    chain: dict[str, Any] = {str(q): {"a": str(q + 1)} for q in range(300)}
    with pytest.raises(SofthatError, match="254"):
        softhat.from_dfa({"start": "0", "accept": ["300"], "transitions": chain})
