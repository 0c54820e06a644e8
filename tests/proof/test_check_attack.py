"""Certificates under attack: hostile words at and just below the certified length.

A violated certificate is the worst bug there is. Whole words run where they are short enough;
where float32 is certified to millions of positions, rows are sampled, each against all keys.
"""

import warnings
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

import softhat
from softhat.logic.random import random_formula
from softhat.models.model import Model
from softhat.models.verification.adversary import shapes
from softhat.models.verification.words import truth_of
from tests.proof.sample import margins_at
from tests.slices import every

LETTERS = np.arange(3)


def attack(model: Model, dtype: str, n: int, words: int, seed: int) -> None:
    """All answers to hostile words of length n are right."""
    rng = np.random.default_rng(seed)
    hostile = [LETTERS[shape(rng, n)] for shape in shapes(model, LETTERS)[:words]]
    plain = [rng.integers(0, 3, n), np.arange(n) // 2 % 2, np.zeros(n, np.int64)]
    batch = np.stack([*hostile, *plain])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers = model.run_batch(batch, dtype) > 0
    assert (answers == truth_of(model, batch)).all(), (str(model.formulas), dtype, n)


def random_model(seed: int, size: int) -> Model:
    rng = np.random.default_rng(seed)
    family = ("all", "past", "counting", "past-counting", "star-free")[seed % 5]
    attention = ("unbounded", "temperature")[seed // 5 % 2]
    formula = random_formula(rng, size, "abc", family)
    return softhat.compile(formula, alphabet="abc", attention=attention)


def attack_at_the_limit(seed: int, dtype: str, size: int, words: int, longest: int) -> None:
    model = random_model(seed, size)
    assert model.certificate.void == ()
    limit = min(model.certificate.max_length[dtype], longest)
    for n in {limit, limit - 1} - {0, -1}:
        attack(model, dtype, n, words, seed)


@pytest.mark.parametrize("seed", every(3, range(25)))
def test_bfloat16(seed: int) -> None:
    attack_at_the_limit(seed, "bfloat16", 9, 4, 300)


@pytest.mark.parametrize("seed", range(100, 103))
def test_float16(seed: int) -> None:
    attack_at_the_limit(seed, "float16", 5, 1, 2_100)


@pytest.mark.parametrize("seed", range(200, 210))
def test_float32_whole_words(seed: int) -> None:
    attack_at_the_limit(seed, "float32", 8, 2, 500)


@pytest.mark.full
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("seed", range(1_000, 1_100))
def test_many_random_models(seed: int, dtype: str) -> None:
    attack_at_the_limit(seed, dtype, 12, 10 if dtype == "bfloat16" else 3, 2_100)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2_000, 2_060))
def test_many_random_models_in_float32(seed: int) -> None:
    attack_at_the_limit(seed, "float32", 12, 4, 3_000)


# Long words, sampled


def check_rows(
    model: Model, word: NDArray[np.int64], rows: NDArray[np.int64], dtype: str = "float32"
) -> None:
    rows = np.unique(np.clip(rows, 0, len(word) - 1))
    expected = model.formulas["output"].truth(np.array(list("abc"))[word])[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers = margins_at(model, word, rows, dtype)[:, 0] > 0
    assert (answers == expected).all(), (str(model.formulas), len(word), rows[answers != expected])


def decided_far_away(n: int, first: int, second: int, future: bool) -> NDArray[np.int64]:
    """Two deciding symbols side by side at one end, filler up to the other."""
    word = np.ones(n, np.int64)
    word[:2] = first, second
    return word[::-1].copy() if future else word


STAR_FREE = {
    "!c S a": "past",
    "O (a & !c)": "past",
    "c T !a": "past",
    "!c U a": "future",
    "Y a": "change",
    "X a": "change",
}


def long_words(kind: str, n: int) -> list[NDArray[np.int64]]:
    if kind == "change":
        return [np.arange(n) % 2, np.arange(n) // 2 % 2]
    return [decided_far_away(n, *pair, kind == "future") for pair in ((0, 2), (2, 0))]


def ends(n: int, count: int, future: bool) -> NDArray[np.int64]:
    near = np.arange(count)
    return np.concatenate([near if future else n - 1 - near, [n // 2, n // 3, 5, n - 6]])


@pytest.mark.parametrize("formula", every(3, STAR_FREE))
def test_a_million_positions(formula: str) -> None:
    attention = ("unbounded", "temperature")[list(STAR_FREE).index(formula) % 2]
    model = softhat.compile(formula, alphabet="abc", attention=attention)
    n = 1_000_003
    assert model.certificate.max_length["float32"] >= n
    for word in long_words(STAR_FREE[formula], n):
        check_rows(model, word, ends(n, 3, STAR_FREE[formula] == "future"))


@pytest.mark.full
@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
@pytest.mark.parametrize("formula", STAR_FREE)
def test_star_free_at_the_certified_maximum(formula: str, attention: str) -> None:
    model = softhat.compile(formula, alphabet="abc", attention=attention)
    n = model.certificate.max_length["float32"]
    assert n >= 16_000_000
    rng = np.random.default_rng(0)
    for word in long_words(STAR_FREE[formula], n):
        rows = np.concatenate([ends(n, 24, STAR_FREE[formula] == "future"), rng.integers(0, n, 24)])
        check_rows(model, word, rows)


COMPARISONS = (
    "#(a) >= #(b)",
    "2*#(a) - i = 0",
    "#(a) + #>(a) > #*(a)",
    "#(a) - #>(b) > 3",
    "3*#(a) + 3*#>(a) + 3*#(b) > 3*#*(a) + 3*#(b)",
)


def hugging_words(n: int) -> list[NDArray[np.int64]]:
    half = np.where(np.arange(n) < n // 2, 0, 1)
    return [np.arange(n) % 2, half, np.where(np.arange(n) % 7 == 3, 1, 0)]


def badly_rounded(word: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Positions where the float32 averages of a, past, future and total, are off by most,
    in either direction."""
    is_a = word == 0
    n = len(word)
    past, places = np.cumsum(is_a), np.arange(1, n + 1)
    future, total = is_a.sum() - past + is_a, is_a.sum()

    def off(counts: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[np.float64]:
        means = counts.astype(np.float32) / keys.astype(np.float32)
        return means.astype(np.float64) * keys - counts

    error = off(past, places + 1) + off(future, n - places + 2)
    error -= off(np.array([total]), np.array([n + 2]))
    ordered = np.argsort(error)
    return np.concatenate([ordered[:count], ordered[-count:]])


@pytest.mark.parametrize(
    ("formula", "attention"), every(3, product(COMPARISONS, ["unbounded", "temperature"]))
)
def test_comparisons_in_float32(formula: str, attention: str) -> None:
    model = softhat.compile(formula, alphabet="abc", attention=attention)
    limit = model.certificate.max_length["float32"]
    for n in {min(limit, 150_001), min(limit, 150_000)}:
        for word in hugging_words(n):
            check_rows(model, word, np.concatenate([ends(n, 4, False), badly_rounded(word, 4)]))


@pytest.mark.full
@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
@pytest.mark.parametrize("formula", COMPARISONS)
def test_comparisons_at_the_certified_maximum(formula: str, attention: str) -> None:
    model = softhat.compile(formula, alphabet="abc", attention=attention)
    limit = model.certificate.max_length["float32"]
    rng = np.random.default_rng(0)
    for n in (limit, limit - 1):
        for word in hugging_words(n):
            rows = [ends(n, 12, False), rng.integers(0, n, 12), badly_rounded(word, 12)]
            check_rows(model, word, np.concatenate(rows))


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_constants_on_the_threshold(share: float) -> None:
    """A constant that counts reach near the certified length, met exactly or missed by one."""
    constant = int(500_000 * share)
    model = softhat.compile(f"#(a) >= {constant}", alphabet="abc")
    n = 500_000
    assert model.certificate.max_length["float32"] >= n
    for count in (constant, constant - 1):
        word = np.ones(n, np.int64)
        word[np.linspace(0, n - 8, count).astype(np.int64)] = 0
        check_rows(model, word, ends(n, 8, False))


@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
@pytest.mark.parametrize("formula", ["-2*#>(Y b) - 3*#>(!a) > -2", "3*n - 3*i - #(a) >= 2"])
def test_the_other_sink_does_not_overflow(formula: str, attention: str) -> None:
    """Its query sees all keys. Were its score infinite, its row would not be a number, and no
    row of a later head that reads it either."""
    model = softhat.compile(f"!O ({formula})", alphabet="abc", attention=attention)
    limit = model.certificate.max_length["float16"]
    for n in (limit, limit - 1):
        words = np.stack([np.full(n, letter) for letter in range(3)])
        with np.errstate(invalid="raise"):
            answers = model.run_batch(words, "float16")
        assert ((answers > 0) == truth_of(model, words)).all()
