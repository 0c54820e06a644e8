"""Which numerical predicates stand in formulas, and how long their words may be."""

from __future__ import annotations

import pytest

from softhat import SofthatError, parse
from softhat.logic.predicates import longest_word, predicates_of
from softhat.numbers.predicates import BuiltIn, Listed, Periodic


def test_each_predicate_once_by_name() -> None:
    first = parse("at(prime) & Y at(p)").bind({"p": "0110"})
    second = parse("at(p) | O at(q)").bind({"p": "0110", "q": "1(01)"})
    assert predicates_of(first, second) == {
        "p": Listed("p", "0110"), "prime": BuiltIn("prime"), "q": Periodic("q", "1", "01"),
    }  # fmt: skip
    assert predicates_of(parse("a S b")) == {}


def test_a_name_has_one_meaning() -> None:
    one, other = (parse("at(p)").bind({"p": bits}) for bits in ("10", "01"))
    with pytest.raises(SofthatError, match="'p' has two meanings"):
        predicates_of(one, other)
    with pytest.raises(SofthatError, match="the numerical predicate 'q' is unknown"):
        predicates_of(parse("a & at(q)"))


def test_the_shortest_table_ends_words() -> None:
    formula = parse("at(p) & at(q) & at(prime)")
    assert longest_word(formula.bind({"p": "0110", "q": "011"})) == 3
    assert longest_word(formula.bind({"p": "(01)", "q": "(1)"})) is None
