"""Chains: what is left says the same as all of them, and long ones are known by their links."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softhat import parse
from softhat.logic.optimise.chains import (
    LONGEST_CHAIN,
    ends_of,
    links_of,
    without_implied,
    without_repeats,
)
from softhat.logic.optimise.entail import Look
from softhat.logic.syntax.nodes import FALSE, TRUE, And, Formula, Or, Symbol
from softhat.logic.syntax.walk import distinct
from tests.logic import oracle
from tests.logic.strategies import formulas

WORDS = ["".join(word) for n in (1, 2, 3) for word in product("ab", repeat=n)]


def joined(kind: type[And] | type[Or], parts: list[Formula]) -> Formula:
    result: Formula = TRUE if kind is And else FALSE
    for part in parts:
        result = kind(result, part)
    return result


@pytest.mark.parametrize("kind", [And, Or])
@given(st.lists(formulas("ab", size=4), min_size=2, max_size=6))
@settings(max_examples=40)
def test_what_is_left_says_the_same(kind: type[And] | type[Or], parts: list[Formula]) -> None:
    chain = parts[0]
    for part in parts[1:]:
        chain = kind(chain, part)
    assert isinstance(chain, And | Or)
    shorter = without_implied(chain, Look())
    kept = joined(kind, without_repeats(kind, parts, Look()))
    for word in WORDS:
        wanted = oracle.truth(chain, word)
        assert oracle.truth(shorter, word) == wanted
        assert oracle.truth(kept, word) == wanted


@pytest.mark.parametrize(("kind", "zero"), [(And, FALSE), (Or, TRUE)])
def test_repeats_and_contradictions(kind: type[And] | type[Or], zero: Formula) -> None:
    a, b, c = (Symbol(s) for s in "abc")
    assert without_repeats(kind, [a, b, a, c, b], Look(0)) == [a, b, c]
    assert without_repeats(kind, [a, b, parse("!a")], Look(0)) == [zero]
    unit = TRUE if zero == FALSE else FALSE
    assert without_repeats(kind, [unit, a, unit], Look(0)) == [a]
    assert without_repeats(kind, [unit, unit], Look(0)) == []


def test_links_are_found_in_long_chains_only() -> None:
    def links(count: int) -> tuple[int, int]:
        rows, (root,) = distinct(parse(" & ".join(f"s{k}" for k in range(count))))
        found = links_of(rows)
        assert root not in found
        assert len(ends_of(root, rows, found)) == (count if found else 2)
        return len(found), count

    assert links(LONGEST_CHAIN)[0] == 0
    assert links(LONGEST_CHAIN + 1)[0] == LONGEST_CHAIN - 1


def test_what_others_use_too_is_no_link() -> None:
    inner = parse(" & ".join(f"s{k}" for k in range(40)))
    assert isinstance(inner, And)
    rows, (root,) = distinct(Or(And(inner, Symbol("x")), inner))
    places = {node: at for at, (node, _) in enumerate(rows)}
    found = links_of(rows)
    assert places[inner] not in found and places[inner.left] in found and root not in found
