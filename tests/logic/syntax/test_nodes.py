"""The language as values: what builds formulas and terms, and what refuses to."""

import dataclasses

import pytest

import softhat
from softhat import SofthatError, count, count_all, count_future, length, parse, position, symbol
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula, Symbol

a, b = symbol("a"), symbol("b")


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (~a & b, "!a & b"),
        (a | b, "a | b"),
        (a ^ b, "a xor b"),
        (a >> b, "a -> b"),
        (a.implies(b), "a -> b"),
        (a.iff(b), "a <-> b"),
        (a.since(b), "a S b"),
        (a.until(b).yesterday(), "Y (a U b)"),
        (count(a) >= 2 * count(b), "#(a) >= 2*#(b)"),
        (count(a) * 2 < 3, "2*#(a) < 3"),
        (count_future(a) > count_all(b) + 1, "#>(a) > #*(b) + 1"),
        (position <= length - 1, "i <= n - 1"),
        (position() != length(), None),
        (1 + count(a) <= 5 - position, "1 + #(a) <= 5 - i"),
        ((-count(a)).equals(-3), "-1*#(a) = -3"),
        (count(a).differs(count(b)), "#(a) != #(b)"),
        (count(count(a) > 1) > 2, "#(#(a) > 1) > 2"),
        (count(a) > 3, "#(a) > 3"),
    ],
)
def test_builders(built: object, text: str | None) -> None:
    if text is None:  # != is structural inequality
        assert built is True
    else:
        assert isinstance(built, Formula)
        assert str(built) == text
        assert parse(text) == built


def test_mistakes_in_python() -> None:
    with pytest.raises(TypeError, match="truth value"):
        bool(a)
    with pytest.raises(TypeError, match="truth value"):
        1 < count(a) < 3  # noqa: B015
    with pytest.raises(TypeError, match="expected a formula"):
        a & "b"  # type: ignore[operator]
    with pytest.raises(TypeError, match="counting term"):
        count(a) > 1.5  # type: ignore[operator] # noqa: B015
    with pytest.raises(TypeError, match="integer"):
        count(a) * 2.5  # type: ignore[operator]
    with pytest.raises(TypeError, match="expected a formula"):
        count("a")
    with pytest.raises(SofthatError, match="non-empty"):
        symbol("")
    with pytest.raises(SofthatError, match="non-empty"):
        Symbol("")
    with pytest.raises(SofthatError, match="m >= 1"):
        nodes.Mod(0, 0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        a.name = "b"
    with pytest.raises(AttributeError):
        (a & b).left = b


def test_the_public_names() -> None:
    assert {"parse", "symbol", "count", "equivalent", "Formula"} <= set(dir(softhat))
    with pytest.raises(AttributeError):
        softhat.nothing  # type: ignore[attr-defined]  # noqa: B018
