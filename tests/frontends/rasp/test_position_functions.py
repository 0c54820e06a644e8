"""Functions of position and length, and pointers that they are, against the interpreter."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import softhat
from softhat import RaspError, rasp
from softhat.frontends.rasp import lib
from tests.frontends.rasp.test_compile import agree

tokens, indices, length = rasp.tokens, rasp.indices, rasp.length
Select, Comparison, Aggregate = rasp.Select, rasp.Comparison, rasp.Aggregate

POINTERS: dict[str, Callable[[int, int], int]] = {
    "mirrored halves": lambda i, n: n - 1 - i if i >= n // 2 else i,
    "the other half": lambda i, n: (i + n // 2) % n,
    "neighbours swapped": lambda i, n: i + 1 if i % 2 == 0 and i + 1 < n else i - i % 2,
    "interleaved with the reverse": lambda i, n: i if i % 2 == 0 else n - i - n % 2,
    "the middle": lambda i, n: (n - 1) // 2,
    "twice as far": lambda i, n: 2 * i if 2 * i < n else -1,
    "a third of the way": lambda i, n: i // 3,
    "by squares": lambda i, n: (i * i) % n,
    "first and last swapped": lambda i, n: n - 1 if i == 0 else 0 if i == n - 1 else i,
}


def words(alphabet: Any, longest: int) -> list[tuple[Any, ...]]:
    dice = random.Random(7)
    short = [w for n in range(1, 5) for w in product(alphabet, repeat=n)]
    return short + [tuple(dice.choices(alphabet, k=n)) for n in range(5, longest + 1)]


@pytest.mark.parametrize("name", POINTERS)
def test_pointers(name: str) -> None:
    place = rasp.SequenceMap(POINTERS[name], indices, length)
    program = Aggregate(Select(indices, place, Comparison.EQ), tokens)
    agree(program, "ab", words("ab", 20))


@pytest.mark.parametrize("name", ["mirrored halves", "the other half", "neighbours swapped"])
def test_pointers_are_certified_and_small(name: str) -> None:
    place = rasp.SequenceMap(POINTERS[name], indices, length)
    program = Aggregate(Select(indices, place, Comparison.EQ), tokens)
    model = softhat.compile(program, alphabet="ab", max_length=100)
    assert model.certificate.max_length["float32"] == 100
    assert model.size.layers <= 3 and model.size.parameters < 24_000
    word = random.Random(3).choices("ab", k=100)
    assert model.values(word) == [word[POINTERS[name](i, 100)] for i in range(100)]


def test_chains_of_pointers() -> None:
    onward = Aggregate(Select(indices, tokens, Comparison.EQ), tokens)
    again = Select(indices, onward, lambda k, q: q is not None and k == q)
    agree(onward, range(4), words(range(4), 6))
    agree(Aggregate(again, tokens), range(4), words(range(4), 6))


def test_a_predicate_of_positions_that_selects_one() -> None:
    nearby = Select(indices, indices, lambda k, q: k == q - 1 or (k == 0 and q == 0))
    before = Aggregate(nearby, tokens)
    agree(before, "ab", words("ab", 12))
    agree(before, "ab", words("ab", 12), causal=True)
    # It is always there, so that it may be compared.
    same = rasp.SequenceMap(lambda a, b: a == b, before, tokens)
    agree(rasp.SelectorWidth(Select(same, tokens == "a", Comparison.EQ)), "ab", words("ab", 12))


def test_pairs_of_token_and_position() -> None:
    pairs = rasp.SequenceMap(lambda x, i: (x, i), tokens, indices)
    earlier = Select(pairs, pairs, lambda k, q: k[0] == q[0] and k[1] <= q[1])
    agree(rasp.SelectorWidth(earlier), "abc", words("abc", 12))
    first = rasp.SequenceMap(
        lambda count, i: i if count == 1 else -1, rasp.SelectorWidth(earlier), indices
    )
    agree(Aggregate(Select(first, indices, Comparison.EQ), tokens), "abc", words("abc", 12))


def test_the_greatest_of_equal_keys() -> None:
    keys = rasp.SequenceMap(lambda x, i: x + i / 1_000, tokens, indices)
    rank = rasp.SelectorWidth(Select(keys, keys, Comparison.LEQ))
    greatest = Aggregate(Select(rank, length, Comparison.EQ), tokens)
    agree(greatest, (1, 2, 3), words((1, 2, 3), 12))


def test_a_function_of_a_mean_that_changes_often() -> None:
    share = lib.make_frac_prevs(tokens == "a")
    agree(rasp.Map(lambda x: x * x, share), "ab", words("ab", 16))
    model = softhat.compile(rasp.Map(lambda x: x * x, share), alphabet="ab", max_length=16)
    assert model.certificate.max_length["float32"] == 16
    larger = Aggregate(Select(tokens, tokens, Comparison.LEQ), tokens)
    agree(rasp.Map(lambda x: x**3, larger), (0, 1, 5), words((0, 1, 5), 8))
    with pytest.raises(RaspError, match="a table of sums and numbers has 180,300 rows"):
        softhat.compile(rasp.Map(lambda x: x * x, share), alphabet="ab", max_length=600)


def test_undefined_values_that_are_never_selected() -> None:
    before = lib.shift_by(1, tokens)
    there = Select(before, indices, lambda k, q: k is not None)
    agree(Aggregate(there, before), (0, 1, 5), words((0, 1, 5), 10))


def test_counts_that_are_never_nothing() -> None:
    agree(rasp.Map(lambda h: 1 / h, lib.make_hist()), "ab", words("ab", 10))


def random_pointer(dice: random.Random) -> Callable[[int, int], int]:
    """A pointer with no law behind it: values and their places by lot."""
    a, b, c, m = (
        dice.randrange(-2, 3),
        dice.randrange(-2, 3),
        dice.randrange(5),
        dice.choice((2, 3, 5)),
    )
    other = dice.randrange(4)

    def pointer(i: int, n: int) -> int:
        value = (a * i + b * n + c) // dice_m
        return value if (i + other * n) % m else other - value

    dice_m = dice.choice((1, 1, 2, 3))
    return pointer


@pytest.mark.parametrize("seed", range(8))
def test_random_pointers(seed: int) -> None:
    dice = random.Random(seed)
    place = rasp.SequenceMap(random_pointer(dice), indices, length)
    agree(Aggregate(Select(indices, place, Comparison.EQ), tokens, 9), (0, 1), words((0, 1), 12))
    agree(rasp.SequenceMap(lambda t, p: (t, p % 7), tokens, place), (0, 1), words((0, 1), 12))


@pytest.mark.full
@pytest.mark.parametrize("seed", range(8, 208))
def test_many_random_pointers(seed: int) -> None:
    test_random_pointers(seed)


def test_sizes_of_refusals() -> None:
    place = rasp.SequenceMap(POINTERS["mirrored halves"], indices, length)
    program = Aggregate(Select(indices, place, Comparison.EQ), tokens)
    with pytest.raises(RaspError, match="tried on 2,001,000 pairs, and 200,000 are the most"):
        softhat.compile(program, alphabet="ab", max_length=2_000)
    shift = lib.shift_by(3, tokens)
    with pytest.raises(RaspError, match="4,294,967,296 pairs of positions, and 20,000,000"):
        softhat.compile(shift, alphabet="ab", max_length=65_536)
