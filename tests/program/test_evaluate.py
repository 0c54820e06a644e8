"""What each kind of head computes, against its definition read off position by position."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from softhat.io.errors import SofthatError
from softhat.program.draft import Draft
from softhat.program.evaluate import evaluate, numbers, outputs
from softhat.program.gates import Steps, Table, Total
from softhat.program.heads import (
    At,
    Average,
    Mask,
    Match,
    MatchMean,
    Previous,
    Selector,
    Shift,
    StrictLatest,
    Width,
)
from softhat.program.inputs import PositionBit
from softhat.program.literals import TRUE, Literal
from softhat.program.signals import Number

WORDS = ["".join(np.random.default_rng(k).choice(list("abc"), 1 + k % 9)) for k in range(60)]
SEEN: dict[Mask, Callable[[int, int], bool]] = {
    "none": lambda i, j: True,
    "<=": lambda i, j: j <= i,
    "<": lambda i, j: j < i,
    ">=": lambda i, j: j >= i,
    ">": lambda i, j: j > i,
}
"""Which j an i sees, by the definition of the masks."""


def codes(word: str) -> np.ndarray:
    return np.array(["abc".index(symbol) for symbol in word])


@pytest.mark.parametrize("direction", ["past", "future"])
def test_strict_latest(direction: str) -> None:
    draft = Draft("abc")
    head = draft.add(StrictLatest(draft.token("b"), draft.token("a"), direction), "h")
    program = draft.finish({"f": head})
    for word in WORDS:
        text = word if direction == "past" else word[::-1]
        want = []
        for i in range(len(text)):
            before = [symbol for symbol in text[:i] if symbol != "b"]
            want.append(bool(before) and before[-1] == "a")
        got = outputs(program, codes(word))["f"].tolist()
        assert got == (want if direction == "past" else want[::-1])


@pytest.mark.parametrize("distance", [2, 3, 7, 12])
def test_shift(distance: int) -> None:
    draft = Draft("abc")
    back = draft.add(Shift(draft.token("a"), distance, "past"), "back")
    ahead = draft.add(Shift(~draft.token("a"), distance, "future"), "ahead")
    program = draft.finish({"back": back, "ahead": ahead})
    for word in WORDS:
        found = outputs(program, codes(word))
        for i in range(len(word)):
            assert found["back"][i] == (i >= distance and word[i - distance] == "a")
            there = i + distance < len(word)
            assert found["ahead"][i] == (there and word[i + distance] != "a")


@pytest.mark.parametrize("mask", list(SEEN))
def test_selectors(mask: Mask) -> None:
    """a selects b and c, b selects a, c has no category."""
    draft = Draft("abc")
    a, b, c = (draft.token([symbol]) for symbol in "abc")
    selector = Selector((a, b), (a, b, c), ((0, 1), (0, 2), (1, 0)), mask, 100)
    chosen = {"a": "bc", "b": "a", "c": ""}
    width = draft.add(Width(selector), "width").signal
    mean = draft.add(MatchMean(selector, ((3, b.signal), (-2, -1))), "mean").signal
    match = draft.add(Match(selector, a), "match")
    steps = {f"{k}": draft.add(Steps(width, (k,)), f">= {k}") for k in (1, 2, 5)}
    odd = draft.add(Steps(width, tuple(range(1, 101))), "odd")
    least = draft.add(Width(Selector((TRUE,), (TRUE,), ((0, 0),), mask, 100)), "all").signal
    added = draft.add(Total(((2, width), (-1, least)), 100), "total").signal
    more = draft.add(Steps(added, (-3, 1)), "from -3 up to 0")
    asked = {"width": Number(((Fraction(1), width),), Fraction(0))}
    asked["mean"] = Number(((Fraction(1, 2), mean),), Fraction(7))
    program = draft.finish({"match": match, "odd": odd, "more": more, **steps}, asked)
    for word in WORDS:
        bits, values = outputs(program, codes(word)), numbers(program, codes(word))
        for i, symbol in enumerate(word):
            keys = [s for j, s in enumerate(word) if SEEN[mask](i, j) and s in chosen[symbol]]
            w = len(keys)
            assert values["width"][i] == Fraction(1, 1 + w)
            assert bits["odd"][i] == (w % 2 == 1)
            seen = sum(SEEN[mask](i, j) for j in range(len(word)))
            assert bits["more"][i] == (-3 <= 2 * w - seen <= 0)
            total = Fraction(sum(3 * (s == "b") - 2 for s in keys))
            assert values["mean"][i] == 7 + (total / w / 2 if w else 0)
            assert bits["match"][i] == bool(keys and keys[0] == "a")
            for k in (1, 2, 5):
                assert bits[f"{k}"][i] == (w >= k)


def test_values_that_do_not_agree() -> None:
    draft = Draft("abc")
    everything = Selector((Literal(-1, True),), (Literal(-1, True),), ((0, 0),), "none", 100)
    program = draft.finish({"f": draft.add(Match(everything, draft.token("a")), "f")})
    assert outputs(program, codes("aaa"))["f"].all()
    with pytest.raises(SofthatError, match="do not agree"):
        outputs(program, codes("ab"))


def test_at_reverses_a_word() -> None:
    draft = Draft("abc")
    queries = tuple(draft.add(PositionBit(b, -1, 1, 1), f"r{b}") for b in range(4))
    keys = tuple(draft.add(PositionBit(b, 1, 0, 0), f"i{b}") for b in range(4))
    head = At(queries, keys, draft.token("a"), "none", 15)
    program = draft.finish({"f": draft.add(head, "f")})
    for word in WORDS:
        want = [symbol == "a" for symbol in word[::-1]]
        assert outputs(program, codes(word))["f"].tolist() == want


def test_averages_are_means_with_the_sinks() -> None:
    draft = Draft("abc")
    a = draft.token("a").signal
    reads = [
        draft.add(Average(((2, a), (-1, -1)), over), over).signal
        for over in ("past", "future", "total")
    ]
    program = draft.finish(
        {}, {str(k): Number(((Fraction(1), at),), Fraction(0)) for k, at in enumerate(reads)}
    )
    assert len(evaluate(program, codes("ab"))) == 4
    for word in WORDS:
        n, values = len(word), [2 * (symbol == "a") - 1 for symbol in word]
        found = numbers(program, codes(word))
        for i in range(1, n + 1):
            assert found["0"][i - 1] == Fraction(sum(values[:i]), i + 1)
            assert found["1"][i - 1] == Fraction(sum(values[i - 1 :]), n + 2 - i)
            assert found["2"][i - 1] == Fraction(sum(values), n + 2)


def test_a_table_is_one_of_its_rows() -> None:
    """However many rows there are, it is one gate of one layer."""
    draft = Draft("abc")
    before = draft.add(Previous(draft.token("a"), "past"), "Y a")
    further = draft.add(Shift(draft.token("b"), 2, "past"), "Y Y b")
    rows = ((before, ~further), (~before, further))
    program = draft.finish({"t": draft.add(Table(rows), "t")})
    for word in WORDS:
        expected = [
            (i >= 1 and word[i - 1] == "a") != (i >= 2 and word[i - 2] == "b")
            for i in range(len(word))
        ]
        assert outputs(program, codes(word))["t"].tolist() == expected
