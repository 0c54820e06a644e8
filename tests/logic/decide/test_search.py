"""The search itself, without the short words that are tried before it."""

from __future__ import annotations

import numpy as np
import pytest

from softhat import SofthatError, parse, satisfiable
from softhat.logic.core import to_core
from softhat.logic.decide.diagrams import TooHardError
from softhat.logic.decide.letters import Letters
from softhat.logic.decide.questions import goal_of
from softhat.logic.decide.search import shortest
from softhat.logic.decide.short_words import Where, first_word
from softhat.logic.optimise.simplify import simplify
from softhat.logic.random import random_formula
from softhat.logic.syntax.nodes import Formula

WHERE: tuple[Where, ...] = ("first", "last", "anywhere")


@pytest.mark.parametrize("family", ["past", "future", "two-way"])
@pytest.mark.parametrize("where", WHERE)
def test_first_of_the_shortest_words(family: str, where: Where) -> None:
    """In both directions, with symbols and with propositions: the same as trying all words."""
    rng = np.random.default_rng(7)
    longest = 0
    for trial in range(60):
        letters = Letters(tuple("ab"), True) if trial % 2 else Letters(tuple("abc"), False)
        first, second = (random_formula(rng, 7, "ab", family) for _ in range(2))
        core = to_core(simplify(first & ~second))
        found = shortest(goal_of(core, where), letters, 1_000_000, None)
        for length in range(1, 6):
            word = first_word(core, letters, where, length)
            if word is not None:
                assert found == word, (str(core), where)
                longest = max(longest, length)
                break
        else:
            assert found is None or len(found) > 5
    assert longest >= 2 or (family, where) in (("past", "first"), ("future", "last"))


def test_up_to_is_a_bound() -> None:
    goal = goal_of(to_core(parse("Y Y Y a")), "last")
    letters = Letters(("a",), False)
    assert shortest(goal, letters, 10_000, 3) is None
    assert shortest(goal, letters, 10_000, 4) == [0, 0, 0, 0]
    with pytest.raises(TooHardError):
        shortest(goal, letters, 5, None)


def counter(bits: int, future: bool) -> Formula:
    """A word that counts from 0 to 2^bits - 1 in binary, one number a position."""
    names = [f"b{k}" for k in range(bits)]
    zero = " & ".join(f"!{name}" for name in names)
    ones = " & ".join(names)
    parts = [f"({zero})" if future else f"H (first -> {zero})"]
    for k, name in enumerate(names):
        carry = " & ".join(names[:k]) or "true"
        if future:
            parts.append(f"G (!last -> (X {name} <-> ({name} xor ({carry}))))")
        else:
            parts.append(f"H (!first -> ({name} <-> (Y {name} xor Y ({carry}))))")
    parts.append(f"F ({ones})" if future else f"({ones})")
    return parse(" & ".join(parts))


@pytest.mark.parametrize("future", [False, True], ids=["past", "future"])
@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5, 6])
def test_counters_are_counted(bits: int, future: bool) -> None:
    names = [f"b{k}" for k in range(bits)]
    word = satisfiable(counter(bits, future), propositions=names)
    numbers = [{name for k, name in enumerate(names) if x >> k & 1} for x in range(1 << bits)]
    assert word == numbers
    contradiction = counter(bits, future) & parse("H (b0 -> Y b0)" if not future else "X X b0")
    assert satisfiable(contradiction, propositions=names) is None


@pytest.mark.full
@pytest.mark.parametrize("future", [False, True], ids=["past", "future"])
def test_large_counters_are_answered_or_refused(future: bool) -> None:
    names = [f"b{k}" for k in range(12)]
    try:
        word = satisfiable(counter(12, future), propositions=names)
    except SofthatError as error:
        assert "too hard to decide" in str(error)
    else:
        assert word is not None and len(word) == 4096


def block_counter(bits: int) -> Formula:
    """The same over {0, 1, c}: numbers of `bits` digits, lowest first, each after a c."""
    skip = "X " * (bits + 1)
    same = f"({skip}'1' <-> '1')"
    number = " & ".join(f"{'X ' * k}!c" for k in range(1, bits + 1))
    blocks = f"c & G (c -> ({number}) & ({skip}c | {'X ' * bits}last))"
    zero = " & ".join(f"{'X ' * k}'0'" for k in range(1, bits + 1))
    low = f"G (c -> N ({skip}true -> !{same}))"
    # A digit changes iff the one below it went from 1 to 0.
    rest = f"G (!c & X !c & {skip}X true -> (X !{same} <-> ('1' & {skip}'0')))"
    ones = " & ".join(f"{'X ' * k}'1'" for k in range(1, bits + 1))
    return parse(f"({blocks}) & ({zero}) & ({low}) & ({rest}) & F (c & {ones})")


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_counters_written_out(bits: int) -> None:
    digits = ["".join(str(x >> k & 1) for k in range(bits)) for x in range(1 << bits)]
    assert satisfiable(block_counter(bits), alphabet="01c") == "c" + "c".join(digits)


def test_too_many_bits_are_refused() -> None:
    chain = "Y " * 2000
    with pytest.raises(SofthatError, match="too hard to decide"):
        satisfiable(f"{chain} a & {chain} b", alphabet="ab")


@pytest.mark.full
def test_long_periods_are_refused() -> None:
    assert satisfiable("mod(1009, 3) & mod(7, 5)") == "a" * 2021
    with pytest.raises(SofthatError, match="too hard to decide"):
        satisfiable("mod(1009, 3) & mod(1013, 5)")


def test_many_propositions() -> None:
    """2^60 letters and 2^30 states."""
    names = [f"{x}{k}" for k in range(30) for x in "pq"]
    answered = " & ".join(f"G (p{k} -> F q{k}) & p{k}" for k in range(30))
    assert satisfiable(answered, propositions=names) == [set(names)]
    assert satisfiable(f"{answered} & G !q7", propositions=names) is None
