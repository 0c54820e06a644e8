"""How formulas are spelt: terminals, quotes, and characters that cannot stand there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softhat import FormulaError
from softhat.logic.syntax.tokens import (
    RESERVED,
    SPELLINGS,
    classify,
    cut,
    look_alike,
    name_character,
    quote,
    tokenize,
    unquote,
)


@given(st.lists(st.sampled_from(sorted(SPELLINGS)), max_size=12))
def test_every_spelling_is_its_terminal(words: list[str]) -> None:
    found = [(token.kind, token.text) for token in tokenize(" ".join(words))]
    assert found == [SPELLINGS[word] for word in words]


@given(st.text(alphabet="aGF_9 ()&|'#><=-!", max_size=30))
def test_both_ways_of_cutting_agree(text: str) -> None:
    try:
        tokens = list(tokenize(text))
    except FormulaError:
        return
    pieces = [piece for piece in cut(text) if piece]
    assert [classify(piece) for piece in pieces] == [
        (kind if kind != "AT" else "SYMBOL", spelt) for kind, spelt, _ in tokens
    ]


@given(st.text(min_size=1, max_size=20))
def test_any_name_can_be_quoted(name: str) -> None:
    written = quote(name)
    (token,) = tokenize(written)
    assert (token.kind, token.text) == ("SYMBOL", name)
    if written[0] == "'":
        assert unquote(written) == name
        assert written.isprintable()


def test_keywords_are_whole_words() -> None:
    for word in sorted(RESERVED):
        assert quote(word) == f"'{word}'"
        (longer,) = tokenize(f"{word}x")
        assert longer.kind == "SYMBOL" and longer.text == f"{word}x"
    assert [t.text for t in tokenize("GFa G F a")] == ["GFa", "G", "F", "a"]


def test_comments_and_white_space_are_skipped() -> None:
    tokens = list(tokenize("a // & b\n & c"))
    assert [t.text for t in tokens] == ["a", "&", "c"] and [t.start for t in tokens] == [0, 10, 12]


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("a ^ b", 2, "xor"),
        ("a == b", 2, "="),
        ("а & b", 0, "U+0430"),
        ("a & “b”", 4, "'"),
        ("a & 'b", 4, "quote"),
        (r"'\q'", 1, "escape"),
    ],
)
def test_what_cannot_stand_there_is_named(text: str, position: int, words: str) -> None:
    with pytest.raises(FormulaError) as raised:
        list(tokenize(text))
    assert raised.value.position == position and words in str(raised.value)


def test_characters_that_look_like_others() -> None:
    assert look_alike("а") == "a" and look_alike("–") == "-" and look_alike("a") is None
    assert "U+2013" in name_character("–")
