"""Exact evaluation against the definition, with Fractions and nested loops."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from softhat import SofthatError
from softhat.ahat import Builder, gallery
from softhat.ahat.exact import last_rows, run
from softhat.ahat.words import all_words
from softhat.numerics.exact import ratio
from tests.ahat.definition import evaluate
from tests.ahat.models import random_model, random_program


def test_last_rows_are_the_last_of_all_rows() -> None:
    rng = random.Random(5)
    for k in range(40):
        model = random_model(rng) if k % 2 else random_program(rng, rng.randint(1, 3))
        (codes,) = all_words(len(model.alphabet), 3)
        layers = run(model, codes).layers
        found = last_rows(model, codes)
        for layer, ends in zip(layers, found, strict=True):
            for head, one in zip(layer.heads, ends, strict=True):
                assert (one.mask == head.mask[-1:]).all()
                assert one.scores.num.shape == (len(codes), 1, len(head.mask))
                ours, all_of_them = (
                    x.scores.num * y.scores.den for x, y in ((one, head), (head, one))
                )
                assert (ours == all_of_them[:, -1:]).all()
                assert (one.best == head.best[:, -1:]).all()
                assert (one.mean.num * head.mean.den == head.mean.num[:, -1:] * one.mean.den).all()


@pytest.mark.parametrize("block", range(10))
def test_two_evaluators_agree_on_random_models(block: int) -> None:
    rng = random.Random(1000 + block)
    for k in range(26):
        model = random_model(rng) if k % 2 else random_program(rng, rng.randint(1, 3))
        n = rng.randint(1, 4)
        word = "".join(rng.choice(model.alphabet) for _ in range(n))
        defined = evaluate(model, word)
        assert model.values(word) == defined.values
        trace = run(model, model.codes([word]))
        for (l, h), rows in defined.rows.items():
            head = trace.layers[l].heads[h]
            for i, scores in enumerate(rows):
                winners = {j for j in scores if scores[j] == max(scores.values())}
                assert set(np.flatnonzero(head.best[0, i])) == winners
                for j, score in scores.items():
                    assert Fraction(int(head.scores.num[0, i, j]), head.scores.den) == score


def test_batches_give_what_single_words_give() -> None:
    rng = random.Random(7)
    for _ in range(10):
        model = random_model(rng, alphabet="abc")
        for n in (1, 3):
            codes = np.concatenate(list(all_words(3, n, chunk=5)))
            values = run(model, codes).values()
            for word, row in zip(itertools.product("abc", repeat=n), values, strict=True):
                assert evaluate(model, word).values == row


def test_integers_beyond_64_bits() -> None:
    b = Builder("ab")
    x = b.token("a") * Fraction(10**9 + 7, 10**9 + 9)
    for k in range(4):  # averages of averages: denominators grow by lcm(1..n) a layer
        x = b.head("<=", value={f"x{k}": x})[f"x{k}"]
    b.output(x)
    model = b.build()
    word = "ab" * 12 + "a"
    trace = run(model, model.codes([word]))
    assert trace.residual.num.dtype == object
    assert model.values(word) == evaluate(model, word).values


@pytest.mark.parametrize(("mask", "empty"), [("<", 0), (">", 2)])
def test_a_row_without_keys_gives_zero(mask: str, empty: int) -> None:
    b = Builder("ab")
    seen = b.head(mask, value={"seen": b.token("a") + 1}, score=[(1, b.position("i"))])["seen"]
    b.output(seen)
    values = b.build().values("aba")
    assert values[empty] == 0
    assert all(v > 0 for k, v in enumerate(values) if k != empty)


def test_words_are_checked() -> None:
    b = Builder(["open", "close"])
    b.output(b.token("open"))
    model = b.build()
    assert model.values("open close open") == [1, 0, 1]
    assert model.values(["open", "close"]) == [1, 0]
    assert model.accepts(["close", "open"])
    with pytest.raises(SofthatError, match=r"'clse' at position 2 is not in the alphabet"):
        model.values(["open", "clse"])
    with pytest.raises(SofthatError, match="empty word"):
        model.values([])


def test_a_table_too_short_for_the_word() -> None:
    b = Builder("a")
    b.output(b.table([1, 2, 3]))
    model = b.build()
    assert model.values("aaa") == [1, 2, 3]
    with pytest.raises(SofthatError, match=r"the position table has 3 entries.*length 4"):
        model.values("aaaa")


def test_hard_run_in_floats_has_the_exact_values() -> None:
    b = Builder("ab")
    average = b.head("<=", value={"average": b.token("a")})["average"]
    b.output(average - Fraction(1, 2))
    model = b.build()
    trace = model.run("aab")
    assert np.allclose(trace.margins["value"], [float(v) for v in model.values("aab")], atol=1e-15)
    assert np.allclose(trace.attention[0][0][2], [1 / 3] * 3)


@pytest.mark.parametrize("n", [42, 43, 44, 64])
def test_prefix_averages_past_the_length_where_lcm_leaves_64_bits(n: int) -> None:
    for model in (gallery.dyck_uniform(), gallery.dyck_argmin()):
        word = "".join(random.Random(n).choice("()") for _ in range(n))
        assert model.values(word) == evaluate(model, word).values


@pytest.mark.parametrize("den", [2**61, 2**62, 2**63, 2**64, 3**41, 10**30])
@pytest.mark.parametrize("num", [0, 1, -1])
def test_huge_denominators_with_small_and_zero_numerators(den: int, num: int) -> None:
    b = Builder("ab", bos=True)
    tiny = b.embed("tiny", {"a": Fraction(num, den), "b": 0})
    found = b.head("<=", value={"x": tiny, "y": b.token("b")}, score=[(tiny, tiny)])
    mean = b.head("none", value={"mean": found["x"] - Fraction(1, 3) * found["y"]})["mean"]
    b.output(mean + b.relu("r", found["x"] * den - Fraction(1, 7)))
    model = b.build()
    for word in ("a", "b", "ab", "bab", "aabab"):
        assert model.values(word) == evaluate(model, word).values


def test_weights_of_every_size_never_overflow() -> None:
    """Random models whose numbers are scaled by powers of two from -200 to 200."""
    rng = random.Random(11)
    for _ in range(40):
        model = random_model(rng)
        scale = Fraction(2) ** rng.randint(-200, 200)
        model = replace(
            model, embedding=tuple(tuple(x * scale for x in row) for row in model.embedding)
        )
        word = "".join(rng.choice("ab") for _ in range(rng.randint(1, 4)))
        assert model.values(word) == evaluate(model, word).values


def test_quotients_beyond_every_float() -> None:
    huge = np.array([10**400, -(10**400), 0, 3], dtype=object)
    assert ratio(huge, 1).tolist() == [math.inf, -math.inf, 0.0, 3.0]
    assert ratio(huge, 10**400)[:2].tolist() == [1.0, -1.0]
