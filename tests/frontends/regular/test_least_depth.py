"""Least depth: what one layer less cannot tell apart, by trying every formula of depth 1."""

from __future__ import annotations

from itertools import combinations

import pytest

import softhat
from softhat.frontends.regular.dfa import minimal
from softhat.frontends.regular.least_depth import attained, least_depth
from softhat.frontends.regular.regex import read_regex

KNOWN = {
    ".*a": 0, ".*a.*": 1, ".*ab": 1, "a.*": 1, "a*": 1, "~(.*b.*)": 1, "(a|b)*a(a|b)": 1,
    "(ab)*": 2, ".*abb": 2, ".*aa.*": 2, ".*a.*b.*a.*b": 2,
}  # fmt: skip


@pytest.mark.parametrize("text", KNOWN)
def test_known(text: str) -> None:
    known = least_depth(minimal(read_regex(text, "ab")))
    assert (known.least, known.is_exact) == (KNOWN[text], True)


def test_counters_have_none() -> None:
    known = least_depth(minimal(read_regex("(b*ab*a)*b*", "ab")))
    assert known.least is None and "counts modulo 2" in known.text


ATOMS = ("(a & first)", "(b & first)", "(a & !first)", "(b & !first)")
SETS = [
    "(" + " | ".join(c) + ")" if c else "false" for k in range(5) for c in combinations(ATOMS, k)
]


def every_formula() -> list[str]:
    """Of depth 1 over a and b, up to Boolean combinations."""
    since = [f"{f} S {g}" for f in SETS for g in SETS]
    return [*ATOMS, *since, *(f"Y ({f})" for f in since), *(f"Y {atom}" for atom in ATOMS)]


@pytest.mark.parametrize("text", [text for text, depth in KNOWN.items() if depth == 2])
def test_two_words_are_a_proof(text: str) -> None:
    dfa = minimal(read_regex(text, "ab"))
    words = least_depth(dfa).words
    assert words is not None
    left, right = words
    assert dfa.accepts(left) != dfa.accepts(right)
    for formula in map(softhat.parse, every_formula()):
        assert formula.truth(left)[-1] == formula.truth(right)[-1], formula


def test_whether_a_model_attains_it() -> None:
    known = least_depth(minimal(read_regex("(ab)*", "ab")))
    assert attained(known, 2).endswith("the model attains it")
    assert attained(known, 3).endswith("the model has 3 layers")
    assert "reads further back" in attained(known, 1)
