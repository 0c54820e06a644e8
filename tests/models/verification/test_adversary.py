"""Hostile words: that they are as hostile as they say, by independent counting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import softhat
from softhat.models.model import Model
from softhat.models.verification.adversary import climb, comparisons, seeds, shapes
from softhat.models.verification.letters import letters
from softhat.models.verification.words import decode, random_words, truth_of

rng = np.random.default_rng(0)


def words(model: Model, n: int) -> list[Any]:
    table, _ = letters(model)
    return [decode(model, table[shape(rng, n)]) for shape in shapes(model, table)]


def hugging(values: list[list[int]]) -> int:
    """How many of these words have |value| <= 1 at 9 in 10 positions of their second half."""
    near = [np.mean(np.abs(row[len(row) // 2 :]) <= 1) for row in values]
    return int(sum(share >= 0.9 for share in near))


COMPARISONS = {
    "#(a) - #(b) >= 1": lambda w, i: w[: i + 1].count("a") - w[: i + 1].count("b") - 1,
    "#(a) >= 30": lambda w, i: w[: i + 1].count("a") - 30,
    "#>(a) > #>(b)": lambda w, i: w[i:].count("a") - w[i:].count("b"),
    "#(a) - #>(b) >= 1": lambda w, i: w[: i + 1].count("a") - w[i:].count("b") - 1,
    "#(Y a) = #(b)": lambda w, i: w[:i].count("a") - w[: i + 1].count("b"),
}


@pytest.mark.parametrize("formula", COMPARISONS)
def test_counts_stay_on_the_threshold(formula: str) -> None:
    model = softhat.compile(formula, alphabet="abc")
    made = words(model, 90)
    value = COMPARISONS[formula]
    values = [[value(word, i) for i in range(len(word))] for word in made]
    if "#>" in formula:
        values = [row[::-1] for row in values]
    if formula == "#(a) - #>(b) >= 1":  # rises by one at every a and b: on it only once
        assert any(min(map(abs, row)) == 0 for row in values)
        assert sum(0 < sum(v >= 0 for v in row) < 90 for row in values) >= 3
    else:
        assert hugging(values) >= 3  # on it, one below, one above


def test_totals_meet_their_threshold() -> None:
    model = softhat.compile("2*#*(a) = n + 1", alphabet="ab")
    made = words(model, 51)
    assert min(abs(2 * word.count("a") - 52) for word in made) == 0


def test_distances_alternations_and_ends() -> None:
    made = set(words(softhat.compile("!c S a", alphabet="abc"), 40))
    for x in "abc":
        for y in "abc":
            assert x + y * 39 in made
            assert y * 39 + x in made
    assert any(word[:38:2] == word[2::2] and word[0] != word[1] for word in made)
    assert all(len(word) == 40 for word in made)
    assert all(len(word) == 1 for word in words(softhat.compile("a S b"), 1))


def test_seeds_reach_the_leak_of_every_head() -> None:
    """Found among all words of length 5: each head's bound is nearly attained."""
    model = softhat.compile("(!c S a) & Y (!a S b)", alphabet="abc")
    table, _ = letters(model)
    tokens = table[np.stack(seeds(model, table))]
    trace_leaks = []
    for word in tokens:
        run = model.run(decode(model, word))
        hard = softhat.compile(model.formulas, alphabet="abc", attention="hard").run(
            decode(model, word)
        )
        trace_leaks.append(
            [
                np.abs(soft - exact)[h, 1:].max()
                for soft, exact in zip(run.head_outputs, hard.head_outputs, strict=True)
                for h in range(len(soft))
            ]
        )
    seen = np.max(trace_leaks, axis=0)
    for head, leak in zip(model.certificate.heads, seen, strict=True):
        assert 0.9 * head.leak < leak <= head.leak + 1e-12


def test_huge_coefficients_and_constants_make_words_too() -> None:
    model = softhat.compile("1000000*#(a) > 999999*#(b) + 123456789012", alphabet="ab")
    assert len(comparisons(model)) == 1
    assert all(len(word) == 20 for word in words(model, 20))
    assert words(softhat.compile("first"), 7)


def test_climbing_climbs() -> None:
    """The objective counts one letter: the search must end with more of it than it had."""
    table = np.arange(3)
    start = np.zeros(30, np.int64)
    seen: list[float] = []

    def objective(tokens: Any) -> Any:
        count = (tokens == 2).sum(axis=1)
        seen.append(float(count.max()))
        return count

    for batch in climb(start, table, objective, np.random.default_rng(1), 40):
        assert batch.shape == (16, 30)
    assert seen[-1] >= 15
    assert seen[0] < 15


@pytest.mark.parametrize("seed", range(12))
def test_letters_of_one_kind_are_interchangeable(seed: int) -> None:
    """Replace symbols by others of their kind: neither formula nor model may notice."""
    from softhat.logic.random import random_formula

    draw = np.random.default_rng(seed)
    formula = random_formula(draw, 12, "abcd")
    model = softhat.compile(formula, alphabet="abcdefg")
    table, complete = letters(model)
    assert complete
    rows = model.transformer.embedding.dense()
    # Without tampering, what the formula can tell apart is what the embedding tells apart: so
    # the kinds are the classes of equal rows, or finer.
    kind = {}
    for code in range(7):
        alike = [k for k in table.tolist() if (rows[k] == rows[code]).all()]
        assert alike
        kind[code] = code if code in alike else alike[0]
    tokens = random_words(model, draw, 25, 30)
    replaced = np.vectorize(kind.__getitem__)(tokens)
    assert (truth_of(model, tokens) == truth_of(model, replaced)).all()
    assert (model.run_batch(tokens) == model.run_batch(replaced)).all()
