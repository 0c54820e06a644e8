"""Regular expressions: the automaton says what the definition of the operators says."""

from __future__ import annotations

import random

import pytest

from softhat import FormulaError, SofthatError
from softhat.frontends.regular.regex import read_regex
from tests.frontends.regular.languages import matches, random_tree, text_of, words

WORDS = words("ab", 6, shortest=0)


@pytest.mark.parametrize("seed", range(60))
def test_the_automaton_is_the_definition(seed: int) -> None:
    dice = random.Random(seed)
    tree = random_tree(dice, "ab", dice.randrange(1, 12), stars=True)
    dfa = read_regex(text_of(tree), "ab")
    assert [dfa.accepts(w) for w in WORDS] == [matches(tree, w) for w in WORDS]


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("ab|ba", ["ab", "ba"], ["", "abba"]),  # juxtaposition before |
        ("a|b&~(b)", ["a"], ["b", "ab"]),  # & before |
        ("ab*", ["a", "abb"], ["abab"]),
        ("(ab)+", ["ab", "abab"], ["", "aba"]),
        ("a?b", ["b", "ab"], ["aab"]),
        ("()", [""], ["a"]),
        ("~(a)*", ["", "b", "aa", "ab", "a" * 5], ["a"]),  # ~(a) is an item that * repeats
        ("~a b", ["b", "aab", "bb"], ["ab", "a"]),
        (" ( a b ) * ", ["", "abab"], ["a"]),
        ("(a|b)*abb&~(b*)", ["abb", "aabb"], ["bb", "ab", ""]),
    ],
)
def test_precedence(text: str, yes: list[str], no: list[str]) -> None:
    dfa = read_regex(text, "ab")
    assert [dfa.accepts(word) for word in [*yes, *no]] == [True] * len(yes) + [False] * len(no)


def test_symbols_in_quotes_and_after_a_backslash() -> None:
    dfa = read_regex(r"('open' \( \) \* \' '\x41')+", ["open", "(", ")", "*", "'", "A"])
    assert dfa.accepts(["open", "(", ")", "*", "'", "A"])
    assert not dfa.accepts(["open"])


def test_the_alphabet_is_what_occurs() -> None:
    assert read_regex("b.|a").alphabet == ("a", "b")


def test_a_deep_expression_is_no_trouble() -> None:
    dfa = read_regex("(" * 2_000 + "a" + ")*" * 2_000 + "b")
    assert dfa.accepts("aaab")
    assert len(dfa.step) == 3


@pytest.mark.parametrize(
    ("text", "position", "said"),
    [
        ("(ab", 3, "not closed"),
        ("ab)", 2, "closes nothing"),
        ("a|", 2, "something must follow"),
        ("|a", 0, "joins two"),
        ("*a", 0, "stands after what it repeats"),
        ("~a*", 2, "two ways"),
        ("", 0, "empty"),
        ("a'b", 1, "not closed"),
        ("a\\", 1, "backslash"),
        ("a|c", 2, "not in the alphabet"),
        ("'\\q'", 1, "no escape"),
    ],
)
def test_what_cannot_be_read(text: str, position: int, said: str) -> None:
    with pytest.raises(FormulaError, match=said) as caught:
        read_regex(text, "ab")
    assert caught.value.position == position


def test_other_refusals() -> None:
    with pytest.raises(SofthatError, match="names no symbol"):
        read_regex(".*")
    with pytest.raises(SofthatError, match="text"):
        read_regex(b"a")
    with pytest.raises(SofthatError, match="5,000 states"):
        read_regex(".*a" + "." * 12, "ab")
    with pytest.raises(SofthatError, match="duplicate"):
        read_regex("a", "aa")
    with pytest.raises(SofthatError, match="too long"):
        read_regex("a" * 20_000)
