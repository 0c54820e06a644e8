"""Equivalence against brute force."""

from itertools import product

import pytest
from hypothesis import given

from softhat import SofthatError, equivalent, parse
from softhat.logic.syntax.nodes import Formula
from tests.logic import oracle
from tests.logic.strategies import formulas
from tests.slices import examples


@examples(100)
@given(formulas("ab", 4), formulas("ab", 4))
def test_shortest_first_word(f: Formula, g: Formula) -> None:
    expected = None
    for word in (word for n in (1, 2, 3) for word in product("abc", repeat=n)):
        if oracle.truth(f, word) != oracle.truth(g, word):
            expected = "".join(word)
            break
    found = equivalent(f, g, alphabet="abc", up_to=3)
    if expected is None or found is None:
        assert found == expected
    else:
        # Symbols that neither formula mentions are interchangeable.
        assert len(found) == len(expected)
        assert found == expected


def test_kinds_of_words() -> None:
    assert equivalent(parse("O open"), parse("open"), alphabet=["open", "close"]) == [
        "open",
        "close",
    ]
    assert equivalent(parse("p"), parse("p & !q"), propositions=["p", "q", "r"]) == [{"p", "q"}]
    assert equivalent(parse("O a"), parse("a")) is None  # words over {a}
    assert equivalent(parse("O a"), parse("a"), alphabet="ab") == "ab"
    assert equivalent(parse("true"), parse("first")) == "aa"
    assert equivalent(parse("#(a) > 7"), parse("false"), alphabet="ab", up_to=7) is None
    assert equivalent(parse("#(a) > 7"), parse("false"), alphabet="ab", up_to=8) == "a" * 8


def test_many_words_in_pieces() -> None:
    """Longer than one piece: 3^13 words; the difference is in the last word of all."""
    last = "&".join(["c"] + [f"{'Y ' * k}c" for k in range(1, 13)])
    assert equivalent(parse(last), parse("false"), alphabet="abc", up_to=13) == "c" * 13


def test_large_alphabets() -> None:
    letters = [chr(0x4E00 + k) for k in range(1000)]
    f = parse(f"O '{letters[7]}'", alphabet=letters)
    assert equivalent(f, parse(f"'{letters[7]}'"), alphabet=letters) == letters[7] + letters[0]


def test_refusals() -> None:
    with pytest.raises(SofthatError, match="'b'"):
        equivalent(parse("a"), parse("b"), alphabet="a")
    with pytest.raises(SofthatError, match="not both"):
        equivalent(parse("a"), parse("a"), alphabet="a", propositions="a")
    with pytest.raises(SofthatError, match="empty"):
        equivalent(parse("true"), parse("false"), alphabet="")
    with pytest.raises(SofthatError, match="list of strings, not 5"):
        equivalent(parse("a"), parse("a"), 5)
    for length in (0, -1, 2.5):
        with pytest.raises(SofthatError, match="up_to"):
            equivalent(parse("a"), parse("a"), up_to=length)
    with pytest.raises(SofthatError, match="a formula is text"):
        equivalent(parse("a"), None)


def test_formulas_as_text() -> None:
    assert equivalent("a W b", "a U b", alphabet="abc") == "a"
    assert equivalent("F a", "true U a", alphabet="ab", up_to=5) is None
