"""Atoms: normal forms that mean what they came from, position by position of every short word."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from softhat.proof.atoms import LONGEST, Atoms, CountSum, Range
from softhat.proof.boolean import Space

WORDS = ["".join(letters) for n in range(1, 5) for letters in product("abc", repeat=n)]
counts = st.dictionaries(
    st.tuples(st.sampled_from(["past", "future", "total"]), st.integers(0, 3)),
    st.integers(-3, 3),
    max_size=3,
)
sums = st.tuples(counts, st.integers(-2, 2), st.integers(-2, 2), st.integers(-3, 3))


def functions(space: Space) -> list[tuple[int, str]]:
    """Functions of the symbol, each with the letters where it holds."""
    a, b = space.symbol("a"), space.symbol("b")
    return [(a, "a"), (b, "b"), (space.negation(a), "bc"), (space.true, "abc")]


Parts = tuple[dict[tuple[Range, int], int], int, int, int]
"""Weights of (range, number of a function), of i, of n, and a constant."""


def value(parts: Parts, word: str, i: int) -> int:
    """By counting."""
    terms, position, length, constant = parts
    letters = ("a", "b", "bc", "abc")
    seen = {"past": word[:i], "future": word[i - 1 :], "total": word}
    total = position * i + length * len(word) + constant
    return total + sum(a * sum(c in letters[f] for c in seen[r]) for (r, f), a in terms.items())


@given(sums, st.integers(-6, 6), sums, st.integers(-6, 6))
def test_comparisons_with_one_number_have_one_meaning(
    left: Parts, k: int, right: Parts, m: int
) -> None:
    atoms = Atoms(Space("abc", False))
    known = [f for f, _ in functions(atoms.space)]

    def function(parts: Parts, threshold: int) -> int:
        terms, position, length, constant = parts
        total = CountSum(
            {(r, known[f]): a for (r, f), a in terms.items()}, position, length, constant
        )
        return atoms.at_least(total, threshold, 0)

    f, g = function(left, k), function(right, m)
    # The same, negated, and constants: what is decided must be so on every word.
    for word in WORDS:
        for i in range(1, len(word) + 1):
            holds, other = value(left, word, i) >= k, value(right, word, i) >= m
            assert f != g or holds == other
            assert f != atoms.space.negation(g) or holds != other
            assert f != atoms.space.true or holds
            assert f != atoms.space.false or not holds


@given(sums, st.integers(-6, 6), st.integers(1, 4))
def test_a_comparison_times_a_factor_is_the_same(parts: Parts, k: int, factor: int) -> None:
    atoms = Atoms(Space("abc", False))
    known = [f for f, _ in functions(atoms.space)]
    terms, position, length, constant = parts
    total = CountSum({(r, known[f]): a for (r, f), a in terms.items()}, position, length, constant)
    assert atoms.at_least(total, k, 0) == atoms.at_least(
        CountSum().plus(total, factor), factor * k, 0
    )
    negated = atoms.at_least(CountSum().plus(total, -1), 1 - k, 0)  # -t >= 1 - k is not t >= k
    assert negated == atoms.space.negation(atoms.at_least(total, k, 0))


def test_previous_of_a_negation() -> None:
    """`Y !f` and `!Y f` differ at the first position only."""
    atoms = Atoms(Space("abc", False))
    space = atoms.space
    a, first = space.symbol("a"), atoms.edge["past"]
    f = atoms.previous(a, "past", 0)
    g = atoms.previous(space.negation(a), "past", 0)
    assert g == space.both(space.negation(first), space.negation(f))
    assert atoms.previous(space.true, "past", 0) == space.negation(first)
    assert atoms.previous(space.false, "past", 0) == space.false
    assert atoms.previous(a, "future", 0) != f


def held(atoms: Atoms, function: int, word: str, i: int, nowhere: bool) -> bool:
    """A function at position i, its atoms by what they say; `nowhere`: what those say that read a
    position before or after the word."""
    space, known = atoms.space, dict[Any, Any]()
    for key in space.atoms_in(function):
        match key:
            case ("first",):
                holds = i == 1
            case ("last",):
                holds = i == len(word)
            case ("previous", direction, inner):
                j = i - 1 if direction == "past" else i + 1
                holds = held(atoms, inner, word, j, nowhere) if 1 <= j <= len(word) else nowhere
            case ("at least", (), 1, 0, least):
                holds = i >= least
        known[key] = np.array([holds])
    code = np.array([space.rank[word[i - 1]]])
    return bool(space.values(function, code, known)[0])


def test_from_a_position_on() -> None:
    atoms = Atoms(Space("abc", False))
    for least in (1, 2, 3, 9, 10):
        function = atoms.position_at_least(1, least, 0)
        assert [held(atoms, function, "abcabcabcabc", i, False) for i in range(1, 13)] == [
            i >= least for i in range(1, 13)
        ]


def test_since_of_what_is_never_bad_is_its_value() -> None:
    atoms = Atoms(Space("abc", False))
    space = atoms.space
    a, b = space.symbol("a"), space.symbol("b")
    assert atoms.since(space.false, b, "past", 0) == b
    assert atoms.since(a, space.false, "past", 0) == space.false
    assert atoms.since(a, b, "past", 0) != atoms.since(a, b, "future", 0)
    assert atoms.residue(1, 0, 0) == space.true


def test_lengths_beyond_which_nothing_is_claimed() -> None:
    atoms = Atoms(Space("abc", False))
    a = atoms.space.symbol("a")
    assert atoms.at_least(CountSum({("past", a): 1}), 10**20, 0) == atoms.space.false
    assert atoms.longest == LONGEST
    atoms.limit(7)
    atoms.limit(9)
    assert atoms.longest == 7


def test_sums_that_cancel_are_decided() -> None:
    """#(f) + #(!f) - i is 0: there is no common divisor of nothing."""
    atoms = Atoms(Space("abc", False))
    space = atoms.space
    f = atoms.previous(space.symbol("a"), "past", 0)
    total = CountSum({("past", f): 1, ("past", space.negation(f)): 1}, position=-1)
    assert atoms.at_least(total, 1, 0) == space.false
    assert atoms.at_least(total, 0, 0) == space.true
    assert atoms.at_least(total, -3, 0) == space.true


def test_limits_only_shrink() -> None:
    atoms = Atoms(Space("abc", False))
    atoms.limit(7)
    a = atoms.space.symbol("a")
    assert atoms.at_least(CountSum({("past", a): 1}), 10**20, 0) == atoms.space.false
    assert atoms.longest == 7
