"""Argmax sets by the definition, word by word, against what the weights say of them."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from fractions import Fraction

import pytest

from softhat.ahat.analysis.gap_laws import gap_laws
from softhat.ahat.analysis.portrait import portrait
from softhat.ahat.analysis.tally import row_tally
from softhat.ahat.builder import Builder, Expr
from softhat.ahat.model import AHAT, BOS, MASKS, Mask
from softhat.proof.simulations.argmax import one_value, set_size
from tests.ahat.analysis.test_gap_laws import least_gaps
from tests.ahat.counting import COUNTING
from tests.ahat.definition import embed, evaluate

ATTAINED = {
    "most_frequent_of_two": "4/((n+3)·(n+1))",
    "most_frequent_of_four": "4/((n+3)·(n+1))",
    "least_frequent": "4/((n+3)·(n+1))",
    "scaled": "6/((n+3)·(n+1))",
    "seen_by_a_prefix": "4/((n+3)·(n+1))",
    "most_frequent_vowel": "4/((n+3)·(n+1))",
    "purest_group": "min(1/n, 4/((n+1)·(n-1)))",
    "copied_from_the_end": "4/((n+3)·(n+1))",
    "near_a_third": "1/(3·n)",
    "median": "1/n",
    "leftmost_most_frequent": "4/((n+3)·(n+1))",
    "group_of_one_value": "1",
    "signed_by_the_length": "1/n",
}
"""Laws of the last head that words attain at two lengths at least: no greater constant holds."""


@pytest.mark.parametrize("name", COUNTING)
def test_models_that_compare_counts(name: str) -> None:
    model = COUNTING[name]()
    last = max(model.heads)
    law, attained = gap_laws(model).gap[last], 0
    assert law is not None
    for n in (2, 3, 4, 5, 11):
        gap = least_gaps(model, n, 4, 400)[last]
        assert law.at(n) <= gap, n
        attained += law.at(n) == gap
    if name in ATTAINED:
        assert (law.text, attained >= 2) == (ATTAINED[name], True)


def random_contents(rng: random.Random) -> AHAT:
    """One head whose scores read symbols alone, often with equal values among ties."""
    b = Builder("abc", bos=rng.random() < 0.5)
    symbols = ["a", "b", "c", *([BOS] if b.bos else [])]

    def coordinate(name: str, low: int, high: int) -> Expr:
        return b.embed(name, {s: rng.randint(low, high) for s in symbols})

    mask = rng.choice(["none", "none", "none", *MASKS])
    value = coordinate("v", 0, 1)
    score = [(coordinate(f"q{r}", -1, 1), coordinate(f"k{r}", 0, 1)) for r in range(2)]
    if rng.random() < 0.3:
        sign = rng.choice([1, -1])
        score = [(b.position(rng.choice(["n", "i", "i/n"])) * sign, score[0][1])]
    found = b.head(mask, value={"found": value}, score=score)["found"]
    b.output(found - Fraction(1, 2))
    model = b.build()
    if rng.random() < 0.3:
        last = tuple(Fraction(rng.randint(0, 1)) for _ in range(model.d_model))
        model = replace(model, eos_embedding=last)
    return model


def argmax_sets(model: AHAT, word: tuple[str, ...]) -> set[frozenset[int]]:
    """Of the positions that see a key."""
    rows = [row for row in evaluate(model, word).rows[0, 0] if row]
    return {frozenset(j for j in row if row[j] == max(row.values())) for row in rows}


def values_at(model: AHAT, word: tuple[str, ...]) -> list[Fraction]:
    """What the head reads at each position."""
    (row,) = model.layers[0].heads[0].value
    return [
        sum((w * x for w, x in zip(row, vector, strict=True)), Fraction(0))
        for vector in embed(model, word)
    ]


def check(seed: int, models: int, longest: int) -> tuple[int, int]:
    """How many of the models have sets that are the same or apart, and one value in each."""
    rng = random.Random(seed)
    apart = equal = 0
    for _ in range(models):
        model = random_contents(rng)
        view = portrait(model).views[0, 0]
        size, picked = set_size(view, "size", 2), one_value(view, [True])
        sizes = None if size.together is None else size
        apart, equal = apart + (sizes is not None), equal + (picked is not None)
        if sizes is None and picked is None:
            continue
        for n in range(1, longest + 1):
            ends = {0} if model.bos else set[int]()
            ends |= {n + int(model.bos)} if model.eos else set()
            for word in itertools.product("abc", repeat=n):
                sets = argmax_sets(model, word)
                if picked is not None:
                    values = values_at(model, word)
                    for found in sets:
                        (value,) = {values[j] for j in found}
                        assert (value,) in picked
                if sizes is not None:
                    assert all(len(found) <= n + sizes.shift for found in sets)
                    for one, other in itertools.combinations(sets, 2):
                        assert one & other <= ends
                        small = min(len(one), len(other)) == 1
                        assert small or len(one) + len(other) <= n + (sizes.together or 0)
    return apart, equal


def test_by_the_definition() -> None:
    apart, equal = check(1, 60, 3)
    assert apart >= 4 and equal >= 4


@pytest.mark.full
def test_by_the_definition_at_full_size() -> None:
    check(2, 600, 4)


def test_one_value_adds_no_denominator() -> None:
    """Ties among copies of a symbol copy it: a second head sees two values, and not averages."""
    b = Builder("ab", bos=True)
    both = b.token("a") + b.token("b")
    near = [(b.token("a"), b.token("a")), (b.token("b"), b.token("b")), (both, both)]
    copy = b.head("<=", value={"copy": b.token("a")}, score=near)["copy"]
    b.output(b.head("none", value={"x": b.token("b")}, score=[(1, copy)])["x"])
    model = b.build()
    law = gap_laws(model).gap[1, 0]
    assert law is not None and law.text == "1"
    assert min(row_tally(model, n, 1e-3).gaps[n][1, 0] for n in range(1, 7)) == 1


@pytest.mark.parametrize("mask", MASKS)
def test_a_query_that_does_not_see_itself_may_miss_its_class(mask: Mask) -> None:
    b = Builder("abc")
    own = [(b.token(s), b.token(s)) for s in "abc"]
    b.output(b.head(mask, value={"x": b.token("a")}, score=own)["x"])
    view = portrait(b.build()).views[0, 0]
    assert (one_value(view, [True]) is None) == (mask in ("<", ">"))
    assert (set_size(view, "size", 2).together is None) == (mask != "none")


@pytest.mark.parametrize(("add", "known"), [(0, True), (-2, False), (Fraction(-1, 2), True)])
def test_the_sign_of_a_query_must_be_known(add: Fraction, known: bool) -> None:
    """A query of both signs has two argmax sets: the best and the worst of the word."""
    for sign in (1, -1):
        b = Builder("ab")
        score = [(sign * (b.position("i") + add), b.token("a"))]
        b.output(b.head("none", value={"x": b.token("a")}, score=score)["x"])
        assert (set_size(portrait(b.build()).views[0, 0], "size", 2).together is not None) == known
