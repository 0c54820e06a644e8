"""Comparisons of counts: the Sign that is drafted says what the sum of counts says."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat.io.errors import SofthatError
from softhat.program.counting import CountingTerm, at_least_zero, counted, extremes
from softhat.program.draft import Draft
from softhat.program.evaluate import outputs
from softhat.program.heads import Average, Range, Sign
from softhat.program.literals import FALSE, TRUE, Literal
from tests.slices import examples

WORDS = [np.array(word) for n in range(1, 5) for word in product(range(3), repeat=n)]
RANGES: tuple[Range, ...] = ("past", "future", "total")
parts = st.lists(
    st.tuples(st.sampled_from(RANGES), st.integers(0, 2), st.booleans(), st.integers(-4, 4)),
    max_size=3,
)


def holds(
    terms: list[tuple[Range, int, bool, int]],
    rest: tuple[int, int, int],
    word: Sequence[int],
    i: int,
) -> bool:
    """By counting."""
    position, length, constant = rest
    seen = {"past": word[:i], "future": word[i - 1 :], "total": word}
    total = position * i + length * len(word) + constant
    for over, letter, positive, a in terms:
        total += a * sum((x == letter) == positive for x in seen[over])
    return bool(total >= 0)


@given(parts, st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-6, 6)))
@examples(60)
def test_a_comparison_means_what_it_counts(
    terms: list[tuple[Range, int, bool, int]], rest: tuple[int, int, int]
) -> None:
    draft = Draft("abc")
    letters = [draft.token([symbol]) for symbol in "abc"]
    linear = CountingTerm(position=rest[0], length=rest[1], constant=rest[2])
    for over, letter, positive, a in terms:
        literal = letters[letter] if positive else ~letters[letter]
        linear = linear.plus(counted(literal, over), a)
    program = draft.finish({"out": at_least_zero(draft, linear, "comparison")})
    for word in WORDS:
        found = outputs(program, word)["out"]
        wanted = [holds(terms, rest, word, i) for i in range(1, len(word) + 1)]
        assert found.tolist() == wanted


def test_t_and_its_negation_share_a_head() -> None:
    """t >= 0 is not (-t >= 1), and a multiple is the same comparison."""
    draft = Draft("ab")
    a = draft.token(["a"])
    t = counted(a, "past").plus(counted(~a, "past"), -1)
    one = at_least_zero(draft, t, "t")
    other = at_least_zero(draft, CountingTerm(constant=-1).plus(t, -1), "-t")
    thrice = at_least_zero(draft, CountingTerm().plus(t, 3), "3t")
    assert one == ~other == thrice
    assert sum(isinstance(signal, Sign) for signal in draft.signals) == 1


def test_what_is_always_so_needs_no_head() -> None:
    draft = Draft("ab")
    a = counted(draft.token(["a"]), "past")
    assert at_least_zero(draft, a, "#(a) >= 0") == TRUE
    assert at_least_zero(draft, CountingTerm(constant=-1).plus(a, -1), "-#(a) >= 1") == FALSE
    assert at_least_zero(draft, CountingTerm(constant=5), "5 >= 0") == TRUE
    assert at_least_zero(draft, CountingTerm(constant=-5), "-5 >= 0") == FALSE
    assert not any(isinstance(signal, Average) for signal in draft.signals)


def test_numbers_that_no_weight_holds() -> None:
    draft = Draft("ab")
    a, b = (counted(draft.token([s]), "past") for s in "ab")
    with pytest.raises(SofthatError, match="beyond 2\\^40"):
        at_least_zero(draft, a.plus(b, -(2**41) - 1), "steep")
    with pytest.raises(SofthatError, match="beyond 2\\^51"):
        at_least_zero(draft, CountingTerm(constant=-(2**52) - 1).plus(a, 2**30).plus(b, -1), "far")
    # A constant that only words beyond 2^40 reach is cut, and is false for all others.
    cut = at_least_zero(draft, CountingTerm(constant=-(2**60)).plus(a, 1), "never")
    assert isinstance(cut, Literal) and draft.signal(cut) is not None


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-1, 2)), max_size=5))
def test_extremes_are_those_of_symbols(terms: list[tuple[int, int]]) -> None:
    draft = Draft("abc")
    letters = [draft.add(draft.signals[draft.token([s]).signal], s).signal for s in "abc"]
    low, high = extremes(draft, [(a, letters[at] if at >= 0 else -1) for a, at in terms])
    values = [sum(a for a, at in terms if at in (-1, letter)) for letter in range(3)]
    assert (low, high) == (min(values), max(values))
