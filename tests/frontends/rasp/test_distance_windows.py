"""Windows of distances in RASP, against plain Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import softhat
from softhat import rasp

Near = Callable[[int, int], bool]
WINDOWS: dict[str, Near] = {
    "the last four": lambda k, q: q - 3 <= k <= q,
    "two or more before": lambda k, q: k <= q - 2,
    "within two on either side": lambda k, q: abs(k - q) <= 2,
    "the next three": lambda k, q: q + 1 <= k <= q + 3,
    "three or more after": lambda k, q: k >= q + 3,
    "all but the neighbours": lambda k, q: abs(k - q) != 1,
    "up to one ahead": lambda k, q: k <= q + 1,
}


def selected(near: Near, word: list[Any], i: int, causal: bool) -> list[int]:
    """By the definition: every position is tried."""
    return [j for j in range(len(word)) if near(j, i) and (j <= i or not causal)]


def words(alphabet: list[Any], seed: int) -> list[list[Any]]:
    dice = random.Random(seed)
    return [dice.choices(alphabet, k=dice.randrange(1, 17)) for _ in range(25)]


def check(model: Any, expected: Callable[[list[Any], int], Any], alphabet: list[Any]) -> None:
    assert not model.certificate.void
    assert model.certificate.max_length["float32"] == 16
    for word in words(alphabet, 5):
        for i, value in enumerate(model.values(word)):
            wanted = expected(word, i)
            if wanted is None:
                assert value is None, (word, i)
            else:
                assert value == pytest.approx(wanted, abs=1e-3), (word, i)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", WINDOWS)
def test_how_many_have_my_symbol(name: str, causal: bool) -> None:
    near = WINDOWS[name]
    select = rasp.Select(rasp.indices, rasp.indices, near)
    same = rasp.Select(rasp.tokens, rasp.tokens, rasp.Comparison.EQ)
    program = rasp.SelectorWidth(select & same)
    model = softhat.compile(program, alphabet="ab", max_length=16, causal=causal)
    check(
        model,
        lambda word, i: sum(word[j] == word[i] for j in selected(near, word, i, causal)),
        ["a", "b"],
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "name",
    [
        "the last four",
        "two or more before",
        "within two on either side",
        "the next three",
        "three or more after",
    ],
)
def test_means(name: str, causal: bool) -> None:
    near = WINDOWS[name]
    select = rasp.Select(rasp.indices, rasp.indices, near)
    program = rasp.Aggregate(select, rasp.numerical(rasp.Map(lambda x: 2 * x + 1, rasp.tokens)))
    model = softhat.compile(program, alphabet=[0, 1], max_length=16, causal=causal)

    def mean(word: list[int], i: int) -> float | None:
        values = [2 * word[j] + 1 for j in selected(near, word, i, causal)]
        return sum(values) / len(values) if values else None

    check(model, mean, [0, 1])


def test_a_wide_window_is_a_difference_of_counts() -> None:
    wide = rasp.Select(rasp.indices, rasp.indices, lambda k, q: q - 11 <= k <= q - 1)
    same = rasp.Select(rasp.tokens, rasp.tokens, rasp.Comparison.EQ)
    model = softhat.compile(rasp.SelectorWidth(wide & same), alphabet="abc", max_length=16)
    check(
        model,
        lambda word, i: sum(word[j] == word[i] for j in range(max(0, i - 11), i)),
        ["a", "b", "c"],
    )


def test_what_stands_in_a_window_is_mapped() -> None:
    last = rasp.Select(rasp.indices, rasp.indices, lambda k, q: q - 2 <= k <= q)
    is_a = rasp.Select(rasp.tokens, rasp.tokens, lambda k, q: k == "a")
    some = rasp.Map(lambda count: count >= 2, rasp.SelectorWidth(last & is_a))
    model = softhat.compile(some, alphabet="ab", max_length=16)
    check(model, lambda word, i: word[max(0, i - 2) : i + 1].count("a") >= 2, ["a", "b"])
