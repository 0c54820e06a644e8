"""What names of predicates mean: bound once, tabulated for files, one meaning a name."""

from __future__ import annotations

import json

import pytest

from softhat import SofthatError, parse
from softhat.logic.binding import bind, predicates_file, with_tables
from softhat.logic.predicates import longest_word, predicates_of
from softhat.numbers.predicates import Listed, ListedByLength
from softhat.numbers.stored import predicate_from
from tests.logic import oracle

WORDS = ["a", "ab", "abba", "baabab", "bbbbbbbbba"]


def test_bound_formulas_mean_what_is_given() -> None:
    formula = parse("at(f) & Y at(g) | at(p) S at(t)")
    bound = bind(formula, oracle.GIVEN)
    stored = with_tables(bound, 12)
    for word in WORDS:
        wanted = oracle.truth(formula, word)
        assert bound.truth(word).tolist() == stored.truth(word).tolist() == wanted
    found = predicates_of(stored)
    assert isinstance(found["f"], Listed) and isinstance(found["g"], ListedByLength)
    assert longest_word(bound) == len(oracle.TABLE) and longest_word(stored) == 12


def test_a_name_is_bound_once() -> None:
    first = bind(parse("at(p)"), {"p": "10"})
    assert bind(first, {"p": "01"}) == first and bind(parse("at(q)"), {"p": "10"}) == parse("at(q)")
    both = first & bind(parse("at(p)"), {"p": "01"})
    with pytest.raises(SofthatError, match="'p' has two meanings"):
        predicates_of(both)


def test_what_has_no_meaning_is_refused() -> None:
    for ask in (predicates_of, lambda f: with_tables(f, 5)):
        with pytest.raises(SofthatError, match="the numerical predicate 'q' is unknown"):
            ask(parse("a & at(q)"))
    with pytest.raises(SofthatError, match="must be a mapping"):
        bind(parse("at(p)"), ["p"])


def test_the_file_holds_what_the_names_mean() -> None:
    stored = with_tables(bind(parse("at(f) | at(prime) & at(p)"), oracle.GIVEN), 9)
    (data,) = predicates_file(stored).values()
    read = [predicate_from(entry, "here") for entry in json.loads(data)]
    assert {p.name: p for p in read} == predicates_of(stored)
    assert predicates_file(parse("a S b")) == {} and longest_word(parse("a S b")) is None
