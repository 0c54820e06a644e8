"""Letters: what formulas cannot tell apart is one letter, in the order given."""

from __future__ import annotations

import pytest

from softhat import SofthatError, parse
from softhat.logic.decide.letters import Letters, letters_for


def test_symbols_that_no_formula_mentions_are_alike() -> None:
    f = parse("a S c")
    assert letters_for([f], "zabcd", None) == Letters(("z", "a", "c"), False)
    assert letters_for([f], "ca", None) == Letters(("c", "a"), False)
    assert letters_for([f], None, None) == Letters(("a", "c"), False)
    assert letters_for([parse("Y true")], None, None) == Letters(("a",), False)


def test_sets_of_propositions() -> None:
    letters = letters_for([parse("q & p")], None, ["p", "r", "q"])
    assert letters == Letters(("p", "q"), True) and letters.count == 4 and letters.bits == 2
    assert letters.all() == [frozenset(), {"q"}, {"p"}, {"p", "q"}]
    assert letters.word([3, 0]) == [{"p", "q"}, set()]


@pytest.mark.parametrize(("count", "bits"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3)])
def test_bits_name_a_letter(count: int, bits: int) -> None:
    letters = Letters(tuple("abcde"[:count]), False)
    assert letters.bits == bits and letters.count == count <= 1 << bits


def test_words_are_text_where_they_can_be() -> None:
    assert Letters(("a", "b"), False).word([0, 1, 1]) == "abb"
    assert Letters(("a", "open"), False).word([0, 1]) == ["a", "open"]


@pytest.mark.parametrize(
    ("alphabet", "propositions", "reason"),
    [
        ("ab", None, "mention 'c', which is not in the alphabet"),
        (None, ["a"], "mention 'c', which is not in the propositions"),
        ("abc", ["a"], "not both"),
        ("", None, "the alphabet is empty"),
        (3, None, "must be text or a list of strings"),
    ],
)
def test_refusals(alphabet: str | None, propositions: list[str] | None, reason: str) -> None:
    with pytest.raises(SofthatError, match=reason):
        letters_for([parse("a & c")], alphabet, propositions)
