"""Truth values against the definitions, on every operator."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat import SofthatError, parse
from softhat.logic.semantics.truth import acceptance_position, truths
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from tests.logic import oracle
from tests.logic.strategies import BINARY, UNARY, formulas, set_words, words
from tests.slices import every, examples


@examples(400)
@given(formulas(), words())
def test_symbol_words(formula: Formula, word: str) -> None:
    assert formula.truth(word).tolist() == oracle.truth(formula, word)


@examples(200)
@given(formulas(), set_words())
def test_propositional_words(formula: Formula, word: list[frozenset[str]]) -> None:
    assert formula.truth(word).tolist() == oracle.truth(formula, word)


@examples(100)
@given(formulas(), st.lists(words(most=12), max_size=6))
def test_many_words_are_evaluated_independently(formula: Formula, many: list[str]) -> None:
    found = formula.truth_many(many)
    assert [values.tolist() for values in found] == [oracle.truth(formula, w) for w in many]


@pytest.mark.parametrize("kind", UNARY, ids=lambda kind: kind.__name__)
def test_unary_operators_on_all_short_words(kind: type[nodes.Unary]) -> None:
    formula = kind(nodes.Symbol("a"))
    for word in short_words("ab", 6):
        assert formula.truth(word).tolist() == oracle.truth(formula, word)


@pytest.mark.parametrize("kind", BINARY, ids=lambda kind: kind.__name__)
def test_binary_operators_on_all_short_words(kind: type[nodes.Binary]) -> None:
    left, right = parse("a | c"), parse("b | c")
    formula = kind(left, right)
    for word in short_words("abcd", 4):
        assert formula.truth(word).tolist() == oracle.truth(formula, word)


def short_words(alphabet: str, longest: int) -> list[str]:
    found = [""]
    for _ in range(longest):
        found += [word + symbol for word in found for symbol in alphabet]
    return sorted(set(found) - {""})


@examples(60)
@given(formulas(size=6), st.integers(64, 400), st.integers(0, 2**32))
def test_words_longer_than_a_machine_word(formula: Formula, length: int, seed: int) -> None:
    word = "".join(np.random.default_rng(seed).choice(list("abc"), length))
    # The definition of S is quadratic: compare with the recursive law instead where it is.
    assert len(formula.truth(word)) == length
    values = parse("a S b").truth(word)
    expected = False
    for symbol, value in zip(word, values, strict=True):
        expected = symbol == "b" or (symbol == "a" and expected)
        assert value == expected


def test_a_million_symbols_against_running_laws() -> None:
    rng = np.random.default_rng(1)
    codes = rng.choice(3, 1_000_003, p=[0.7, 0.2, 0.1])
    word = "".join(np.array(list("abc"))[codes])
    a, b = codes == 0, codes == 1
    assert (parse("#(a) > 2*#(b)").truth(word) == (np.cumsum(a) > 2 * np.cumsum(b))).all()
    assert (parse("O b").truth(word) == np.logical_or.accumulate(b)).all()
    until = parse("a U b").truth(word)
    assert (until[:-1] == (b[:-1] | (a[:-1] & until[1:]))).all()
    assert until[-1] == b[-1]
    assert (parse("Y a").truth(word)[1:] == a[:-1]).all()


@pytest.mark.parametrize("factor", every(3, [2**29, 2**31, 2**61, 2**62, 2**63, 2**64, 10**40]))
def test_counts_never_overflow(factor: int) -> None:
    word = "ab" * 50 + "a"
    for relation in ("<", "<=", "=", "!=", ">=", ">"):
        formula = parse(f"{factor}*#(a) {relation} {factor}*#>(b) + {factor - 1}*#*(a) - {factor}")
        assert formula.truth(word).tolist() == oracle.truth(formula, word)
        many = formula.truth_many([word, "b", word[::-1]])
        assert [values.tolist() for values in many] == [
            oracle.truth(formula, w) for w in (word, "b", word[::-1])
        ]


def test_huge_modulus() -> None:
    big = 10**30
    assert parse(f"mod({big}, 3)").truth("aaaaa").tolist() == [False, False, True, False, False]
    assert not parse(f"mod({big}, 0)").truth("aaaaa").any()
    assert not parse(f"mod({big}, {big - 1})").truth("aaaaa").any()


def test_kinds_of_words() -> None:
    formula = parse("Y open")
    assert formula.truth(["open", "close"]).tolist() == [False, True]
    assert formula.truth(("open", "close")).tolist() == [False, True]
    assert formula.truth(np.array(["open", "close"])).tolist() == [False, True]
    assert parse("Y a").truth(b"ab").tolist() == [False, True]
    assert parse("'é' & Y '𝒂'").truth("𝒂é").tolist() == [False, True]
    assert parse(r"'\0'").truth_many(["\0a", "a\0"])[1].tolist() == [False, True]
    assert parse(r"Y '\ud800'").truth("\ud800a").tolist() == [False, True]
    values = formula.truth_many([["open"], ["close", "open", "open"]])
    assert [v.tolist() for v in values] == [[False], [False, False, True]]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("", "empty word"),
        ([], "empty word"),
        (["a", 3], "position 2"),
        (["a", ""], "position 2"),
        ([{"p"}, "a"], "position 2"),
        (7, "a word is"),
        ({"p"}, "a word is"),
        (np.array([1, 2]), "alphabet"),
        (np.zeros((2, 2), str), "shape"),
    ],
)
def test_bad_words(word: object, message: str) -> None:
    with pytest.raises(SofthatError, match=message):
        parse("a").truth(word)


def test_words_of_both_kinds() -> None:
    with pytest.raises(SofthatError, match="both"):
        parse("a").truth_many(["a", [{"a"}]])


def test_no_words() -> None:
    assert parse("a").truth_many([]) == []
    assert truths([parse("a"), parse("b")], []) == [[], []]


def test_acceptance() -> None:
    assert acceptance_position(parse("a & mod(2, 1) & #*(a) > n")) == "last"
    assert acceptance_position(parse("Y a")) == "last"
    assert acceptance_position(parse("X a")) == "first"
    assert acceptance_position(parse("#>(Y a) > 1")) is None
    assert parse("X b").accepts("ab")
    assert not parse("X b").accepts("ab", at="last")
    with pytest.raises(SofthatError, match="both ways"):
        parse("X Y b").accepts("ab")
    with pytest.raises(SofthatError, match="'first' or 'last'"):
        parse("X b").accepts("ab", at="middle")
