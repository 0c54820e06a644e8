"""Operators with bounds, against their definition read off position by position."""

from __future__ import annotations

import random

import pytest

import softhat
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from softhat.logic.windows import FARTHEST, without_windows
from tests.slices import every

Truth = list[bool]


def meaning(f: Formula, word: str) -> Truth:
    """The definition, word for word: every distance is tried."""
    n = len(word)
    match f:
        case nodes.Symbol(name):
            return [symbol == name for symbol in word]
        case nodes.Not(g):
            return [not x for x in meaning(g, word)]
        case nodes.And(g, h):
            return [x and y for x, y in zip(meaning(g, word), meaning(h, word), strict=True)]
        case nodes.Since(g, h):
            left, right = meaning(g, word), meaning(h, word)
            return [
                any(right[j] and all(left[j + 1 : i + 1]) for j in range(i + 1)) for i in range(n)
            ]
        case nodes.UnaryWindow(low, high, g):
            inner = meaning(g, word)
            ahead = isinstance(f, nodes.EventuallyWithin | nodes.AlwaysWithin)
            every = isinstance(f, nodes.HistoricallyWithin | nodes.AlwaysWithin)
            seen = [
                [inner[j] for j in range(n) if low <= (j - i if ahead else i - j) <= high]
                for i in range(n)
            ]
            return [all(row) if every else any(row) for row in seen]
        case nodes.SinceWithin(low, high, g, h):
            left, right = meaning(g, word), meaning(h, word)
            return [
                any(
                    right[j] and low <= i - j <= high and all(left[j + 1 : i + 1])
                    for j in range(i + 1)
                )
                for i in range(n)
            ]
        case nodes.UntilWithin(low, high, g, h):
            left, right = meaning(g, word), meaning(h, word)
            return [
                any(right[j] and low <= j - i <= high and all(left[i:j]) for j in range(i, n))
                for i in range(n)
            ]
    raise AssertionError(f)


UNARY = (
    nodes.OnceWithin,
    nodes.HistoricallyWithin,
    nodes.EventuallyWithin,
    nodes.AlwaysWithin,
)
BINARY = (nodes.SinceWithin, nodes.UntilWithin)


def random_formula(dice: random.Random, depth: int, past: bool = False) -> Formula:
    """With at least one operator that has bounds."""
    unary, binary = (UNARY[:2], BINARY[:1]) if past else (UNARY, BINARY)

    def part(depth: int) -> Formula:
        if depth == 0:
            return nodes.Symbol(dice.choice("abc"))
        match dice.randrange(6):
            case 0:
                return nodes.Not(part(depth - 1))
            case 1:
                return nodes.And(part(depth - 1), part(depth - 1))
            case 2:
                return nodes.Since(part(depth - 1), part(depth - 1))
        return window(depth)

    def window(depth: int) -> Formula:
        low = dice.randrange(5)
        high = low + dice.choice([0, 1, 2, 7, 8, 20])
        if dice.random() < 0.5:
            return dice.choice(unary)(low, high, part(depth - 1))
        return dice.choice(binary)(low, high, part(depth - 1), part(depth - 1))

    return window(depth)


def words(dice: random.Random, count: int, most: int) -> list[str]:
    return ["".join(dice.choices("abc", k=dice.randrange(1, most))) for _ in range(count)]


def check(seed: int) -> None:
    dice = random.Random(seed)
    formula = random_formula(dice, 1 + seed % 3)
    assert softhat.parse(str(formula)) == formula
    assert softhat.parse(formula.pretty()) == formula
    tried = words(dice, 12, 30)
    expected = [meaning(formula, word) for word in tried]
    assert [formula.truth(word).tolist() for word in tried] == expected
    assert [row.tolist() for row in formula.truth_many(tried)] == expected
    (plain,) = without_windows(formula)
    assert [plain.truth(word).tolist() for word in tried] == expected
    model = softhat.compile(formula, alphabet="abc")
    if model.size.layers == 0:  # a constant, which is not proved where that takes too many states
        return
    assert not model.certificate.void, formula
    assert model.certificate.max_length["float32"] > 1_000_000
    assert model.certificate.max_length["bfloat16"] >= 200
    assert [row.tolist() for row in model.truth_many(tried)] == expected


@pytest.mark.parametrize("seed", every(2, range(24)))
def test_random_formulas(seed: int) -> None:
    check(seed)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(24, 400))
def test_many_random_formulas(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("high", [0, 1, 7, 8, 9, 63, 64, 65, 200])
def test_windows_of_every_width(high: int) -> None:
    dice = random.Random(high)
    for formula in (
        nodes.OnceWithin(0, high, nodes.Symbol("a")),
        nodes.SinceWithin(high // 2, high, nodes.Not(nodes.Symbol("c")), nodes.Symbol("a")),
    ):
        (plain,) = without_windows(formula)
        for word in ["b" * 260, "a" + "b" * 260, *words(dice, 4, 260)]:
            assert plain.truth(word).tolist() == meaning(formula, word)


def test_a_small_window_is_one_layer() -> None:
    assert softhat.compile("O[1,4] a", alphabet="ab").size.layers == 1
    assert softhat.compile("a S[0,5] b", alphabet="ab").size.layers == 1


def test_bounds_are_decided_for_every_length() -> None:
    assert softhat.equivalent("O[1,2] a", "Y a | Y Y a", alphabet="ab") is None
    assert softhat.equivalent("H[1,1] a", "Z a", alphabet="ab") is None
    assert softhat.equivalent("a S[0,1] b", "b | a & Y b", alphabet="ab") is None
    assert softhat.equivalent("a U[0,2] b", "a U b", alphabet="ab") == "aaab"


def test_builders() -> None:
    a, b = softhat.symbol("a"), softhat.symbol("b")
    assert a.once(1, 4) == softhat.parse("O[1,4] a")
    assert a.historically(high=3) == softhat.parse("H[0,3] a")
    assert a.since(b, 2, 5) == softhat.parse("a S[2,5] b")
    assert a.eventually(0, 1) == softhat.parse("F[0,1] a")
    assert a.always(1, 1) == softhat.parse("G[1,1] a")
    assert a.until(b, 0, 9) == softhat.parse("a U[0,9] b")


def test_stock_decoders_have_windows_too(tmp_path: object) -> None:
    from softhat.logic.fragments import describe

    assert describe(softhat.parse("O[1,3] a & (a S[0,2] b)")).is_decoder
    assert not describe(softhat.parse("F[1,3] a")).is_decoder


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("O[2,1] a", "0 <= a <= b"),
        ("O[-1,1] a", "0 <= a <= b"),
        ("Y[1,2] a", "takes no bounds"),
        ("a W[1,2] b", "takes no bounds"),
        ("O[1 a", "two integers in brackets"),
        ("O[1,2 a", "two integers in brackets"),
        ("O[a,2] a", "two integers in brackets"),
        ("[1,2] a", "stands only in bounds"),
        ("[] a", "write G"),
    ],
)
def test_what_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(softhat.FormulaError, match=message):
        softhat.parse(text)


def test_bounds_that_are_too_far_are_refused_at_once() -> None:
    formula = softhat.parse(f"O[1,{10**9}] a")
    assert formula.truth("bab").tolist() == [False, False, True]
    with pytest.raises(softhat.SofthatError, match=f"up to {FARTHEST:,}"):
        softhat.compile(formula)
