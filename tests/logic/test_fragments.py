"""What a formula is said to be."""

import pytest

from softhat import parse
from softhat.logic.fragments import describe, symbols_of


@pytest.mark.parametrize(
    ("text", "fragment", "decoder", "acceptance"),
    [
        ("a & !b", "Boolean", True, "last"),
        ("first -> a", "Boolean", True, "last"),
        ("last & a", "Boolean", False, "last"),
        ("mod(2, 0)", "Boolean with mod", True, "last"),
        ("i > 3", "Boolean with counting", True, "last"),
        ("#*(a) > 3 & mod(2, 1)", "Boolean with counting and mod", False, "last"),
        ("n > 3", "Boolean with counting", False, "last"),
        ("Y a & Z Y b", "Y-only", True, "last"),
        ("X N a", "X-only", False, "first"),
        ("Y a & O b", "pure past", True, "last"),
        ("!c S a", "pure past", True, "last"),
        ("#(a) > 1", "pure past with counting", True, "last"),
        ("Y a & i > 2", "Y-only with counting", True, "last"),
        ("Y a & #(a) > 2", "pure past with counting", True, "last"),
        ("a T b & mod(3, 1)", "pure past with mod", True, "last"),
        ("G (a -> F b)", "pure future", False, "first"),
        ("a W b", "pure future", False, "first"),
        ("a M b", "pure future", False, "first"),
        ("#>(a) > 1", "pure future with counting", False, "first"),
        ("X Y a", "two-way", False, None),
        ("F (2*#(a) = #*(a))", "two-way with counting", False, None),
        ("O last", "pure past", False, "last"),
    ],
)
def test_fragment(text: str, fragment: str, decoder: bool, acceptance: str | None) -> None:
    known = describe(parse(text))
    assert known.fragment == fragment
    assert known.is_decoder == decoder
    assert known.acceptance == acceptance


def test_numbers() -> None:
    known = describe(parse("(a S b) & Y (a S b) & #(O c) > i"))
    assert known.temporal_depth == 2
    assert known.size == 14
    assert known.distinct_subformulas == 9
    assert known.symbols == ("a", "b", "c")
    assert (known.has_past, known.has_future, known.has_counting, known.has_mod) == (
        True,
        False,
        True,
        False,
    )
    assert describe(parse("a -> b")).temporal_depth == 0
    assert describe(parse("i > 3")).temporal_depth == 0
    assert describe(parse("Y Y Y a")).temporal_depth == 3
    assert symbols_of(parse("b"), parse("a & '('")) == ["(", "a", "b"]
