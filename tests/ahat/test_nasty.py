"""Cases that break careless bounds, each with the verdict it must get."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.ahat import AHAT, Builder
from softhat.ahat.analysis.fits import fitted
from softhat.ahat.model import BOS
from softhat.ahat.simulation.lengths import Lengths
from tests.ahat import running
from tests.ahat.definition import evaluate, softmax_values

HALF = Fraction(1, 2)


def every(model: AHAT, n: int) -> list[str]:
    return ["".join(w) for w in itertools.product(model.alphabet, repeat=n)]


def true_error(model: AHAT, betas: dict[tuple[int, int], float], n: int) -> float:
    return max(
        abs(float(soft_ - float(exact)))
        for word in every(model, n)
        for soft_, exact in zip(
            softmax_values(model, betas, word), evaluate(model, word).values, strict=True
        )
    )


def by_token(scores: dict[str, Fraction], bos: bool = False, mask: str = "none") -> AHAT:
    """Attend to the tokens with the highest score; is the mean of [a] there more than 1/2?"""
    b = Builder("ab", bos=bos)
    found = b.head(mask, value={"a": b.token("a")}, score=[(1, b.embed("score", scores))])["a"]
    b.output(found - HALF)
    return b.build()


@pytest.mark.parametrize("k", [10, 30, 60, 200])
def test_near_ties(k: int) -> None:
    """A gap of 2^-k is a gap: tieless or uniform rows, β near 2^k; floats may not see it."""
    b = Builder("ab")
    near = b.table([Fraction(0), Fraction(1, 2**k), Fraction(-1, 2**k)])
    b.output(b.head("none", value={"a": b.token("a")}, score=[(1, near + 1)])["a"] - HALF)
    model = b.build()
    r = softhat.analyze(model, up_to=3)
    assert r.uniform_tieless
    assert r.min_gap[0, 0] == Fraction(1, 2**k)
    s = softhat.simulate(model, max_length=3)
    assert s.betas[0, 0] == pytest.approx(math.log(1000) * 2**k, rel=0.05)
    assert s.certificate.error <= 1e-3
    # 1 + 2^-k is no float32 from k = 24 on, no float64 from 53 on: then only words of one symbol
    # are promised, and none where β itself is no number of the format.
    assert s.certificate.max_length["float32"] == (3 if k < 20 else 1 if k < 100 else 0)
    assert s.certificate.max_length["float64"] == (3 if k < 52 else 1)
    assert s.certificate.explain()


@pytest.mark.parametrize(
    ("entries", "shape"),
    [
        (lambda n: [Fraction(-1, i) for i in range(1, n + 1)], "n^2"),
        (lambda n: [Fraction(1, 2**i) for i in range(1, n + 1)], "2^n"),
    ],
)
def test_shrinking_gaps(entries: Any, shape: str) -> None:
    b = Builder("ab")
    b.output(
        b.head("none", value={"a": b.token("a")}, score=[(-1, b.table(entries(12)))])["a"] - HALF
    )
    if shape == "n^2":
        b = Builder("ab")
        score = [(1, b.table(entries(12)))]
        b.output(b.head("none", value={"a": b.token("a")}, score=score)["a"] - HALF)
    lengths = Lengths(b.build())
    betas = {n: lengths.reference(n)[0, 0] for n in range(3, 13)}
    law = fitted(betas)
    assert law is not None
    assert law.shape == shape


def test_gaps_of_one_over_n() -> None:
    b = Builder("ab")
    score = [(1, b.position("i/n"))]
    b.output(b.head("none", value={"a": b.token("a")}, score=score)["a"] - HALF)
    r = softhat.analyze(b.build(), up_to=7)
    assert [r.gaps[n][0, 0] for n in range(2, 8)] == [Fraction(1, n) for n in range(2, 8)]
    assert r.fits[0, 0].shape == "n"


@pytest.mark.parametrize("mask", ["<", ">"])
@pytest.mark.parametrize("bos", [False, True])
def test_rows_without_keys(mask: str, bos: bool) -> None:
    """They give 0, in both models, and count as uniform."""
    model = by_token({"a": Fraction(1), "b": Fraction(0)}, bos, mask)
    s = softhat.simulate(model, max_length=4)
    for word in every(model, 3):
        exact = evaluate(model, word).values
        assert model.values(word) == exact
        assert np.abs(s.values(word) - np.array(exact, dtype=float)).max() <= 1e-3
        for maps in s.run(word).attention:
            assert np.isfinite(maps).all()
    if not bos:
        empty = 0 if mask == "<" else 2
        assert s.values("aba")[empty] == -0.5
        assert s.run("aba").attention[0][0][empty].sum() == 0


def test_rows_with_one_key() -> None:
    model = by_token({"a": Fraction(1), "b": Fraction(0)}, mask="<=")
    r = softhat.analyze(model, up_to=1)
    assert r.rows[1][0, 0] == (2, 0, 0)
    s = softhat.simulate(model, max_length=1)
    assert s.certificate.error == 0


def test_uniform_only_up_to_rounding() -> None:
    """Scores 3·(1/10) and 3/10: equal numbers, different floats. Uniform, and certified as such."""
    b = Builder("ab")
    tenth, thrice = b.embed("x", {"a": Fraction(1, 10)}), b.embed("y", {"b": Fraction(3, 10)})
    found = b.head("none", value={"a": b.token("a")}, score=[(1, 3 * tenth), (1, thrice)])["a"]
    b.output(found - Fraction(1, 7))
    model = b.build()
    r = softhat.analyze(model, up_to=5)
    assert all(rows[0, 0][1:] == (0, 0) for rows in r.rows.values())
    s = softhat.simulate(model, max_length=5)
    # Every word is run in intervals of float64 numbers: what is proved is their width.
    assert s.certificate.error < 1e-13
    # Colder than needed, rounding tilts the average: the bound follows, in both formats.
    lengths = Lengths(model)
    for dtype in ("float64", "float32"):
        for beta in (1.0, 2.0**20, 2.0**50):
            bound = running.float_bound(lengths, 4, {(0, 0): beta}, dtype)
            for word in every(model, 4):
                exact = np.array(model.values(word), dtype=float)
                found_ = running.values(model, {(0, 0): beta}, model.codes([word]), dtype)[0]
                assert np.abs(found_ - exact).max() <= bound


def accidental() -> AHAT:
    """Layer 0 looks up the last token (with error); layer 1 scores what it found.

    On words of one letter every row of layer 1 is uniform, but only by accident: its scores
    carry error, and its values differ between positions.
    """
    b = Builder("ab")
    previous = b.head(
        "<=", value={"first": b.token("a")}, score=[(-1, b.position("i"))], name="first"
    )["first"]
    mixed = previous + b.token("a")
    found = b.head("none", value={"odd": b.mod(2, 1)}, score=[(1, mixed)], name="accident")["odd"]
    b.output(found - Fraction(3, 7))
    return b.build()


def test_uniform_by_accident_is_dangerous() -> None:
    model = accidental()
    assert softhat.analyze(model, words=["aaaa", "bbbb"]).uniform_tieless
    s = softhat.simulate(model, max_length=4)
    assert s.certificate.heads[1].kind == "dangerous ties"
    assert true_error(model, dict(s.betas), 4) <= s.certificate.error
    warm = {(0, 0): 3.0, (1, 0): 60.0}  # layer 0 leaks 5%, layer 1 amplifies it
    bound = Lengths(model).bound(4, warm).error
    assert true_error(model, warm, 4) <= bound
    assert bound > 0.3


def test_colder_is_not_always_safer() -> None:
    """With upstream error the output error against β is U-shaped, and so is its bound."""
    model, lengths = accidental(), Lengths(accidental())
    grid = [1.0, 4.0, 16.0, 64.0, 1024.0]
    true = [true_error(model, {(0, 0): 7.0, (1, 0): beta}, 4) for beta in grid]
    bounds = [lengths.bound(4, {(0, 0): 7.0, (1, 0): beta}).error for beta in grid]
    for errors in (true, bounds):
        least = errors.index(min(errors))
        assert 0 < least < len(grid) - 1
        assert errors[0] > 2 * min(errors) < errors[-1] / 2
    assert all(b >= t for t, b in zip(true, bounds, strict=True))


def test_ties_with_constant_and_with_varying_values() -> None:
    """Erroneous scores tie: harmless if the tied values are equal, else layer 0 must be colder."""
    upstream = {}
    for varying in (False, True):
        b = Builder("ab")
        first = b.head("<=", value={"first": b.token("a")}, score=[(-1, b.position("i"))])["first"]
        value = b.token("a") + (b.mod(2, 0) if varying else 0)
        chosen = b.head("none", value={"v": value}, score=[(1, b.token("a") + first)])["v"]
        b.output(chosen - Fraction(2, 7))
        model = b.build()
        assert not softhat.analyze(model, up_to=4).uniform_tieless
        s = softhat.simulate(model, max_length=4)
        assert s.certificate.heads[1].kind == ("dangerous ties" if varying else "benign ties")
        assert true_error(model, dict(s.betas), 4) <= s.certificate.error <= 1e-3
        upstream[varying] = s.betas[0, 0]
    assert upstream[True] > 2 * upstream[False]


def test_an_exact_relu_kink() -> None:
    """ReLU exactly at its kink passes error one way only; the bound knows which."""
    b = Builder("ab")
    last = b.head("none", value={"last": b.token("a")}, score=[(1, b.position("i"))])["last"]
    b.output(b.relu("kink", 1 - last) + b.relu("kink2", last - 1))
    model = b.build()
    s = softhat.simulate(model, max_length=4)
    assert true_error(model, dict(s.betas), 4) <= s.certificate.error
    lengths = Lengths(model)
    bound = lengths.bound(4, {(0, 0): 2.0})
    true = true_error(model, {(0, 0): 2.0}, 4)
    assert true <= bound.error <= true * 1.000001


@pytest.mark.parametrize("bos", [False, True])
def test_an_empty_selection(bos: bool) -> None:
    """Nothing is selected: with `<bos>` at score 1/2 it is found, without all keys tie at 0."""
    b = Builder("ab", bos=bos)
    score: list[Any] = [(b.token("b"), b.token("a"))]
    if bos:
        score.append((HALF, b.embed("bos", {BOS: 1})))
    found = b.head("none", value={"odd": b.mod(2, 1)}, score=score)["odd"]
    b.output(found - Fraction(3, 7))
    model = b.build()
    empty = model.values("bbb")[0] + Fraction(3, 7)
    assert empty == (0 if bos else Fraction(2, 3))
    s = softhat.simulate(model, max_length=5)
    for word in every(model, 4):
        error = np.abs(s.values(word) - np.array(model.values(word), dtype=float)).max()
        assert error <= s.certificate.error + 1e-12


def test_float32_above_the_ceiling() -> None:
    """Equal prefix averages of ninths differ by an ulp in float32: at β = 2^26 the tie is lost."""
    b = Builder("ab")
    ninths = b.embed("ninths", {"a": Fraction(7, 9)})
    average = b.head("<=", value={"average": ninths})["average"]
    tied = b.head("<=", value={"odd": b.mod(2, 1)}, score=[(1, average)], name="argmax")["odd"]
    b.output(tied - Fraction(3, 7))
    model, lengths = b.build(), Lengths(b.build())
    cold = {(0, 0): 1.0, (1, 0): 2.0**26}
    n = 6
    assert lengths.bound(n, cold).error < 1e-9  # fine in the reals
    worst = 0.0
    for word in every(model, n):
        found = running.values(model, cold, model.codes([word]), "float32")[0].astype(float)
        worst = max(worst, float(np.abs(found - np.array(model.values(word), dtype=float)).max()))
    assert worst > 0.01
    assert running.float_bound(lengths, n, cold, "float32") >= worst
    assert running.float_bound(lengths, n, cold, "float64") < 1e-3
    s = softhat.simulate(model, max_length=n, dtype="float32")
    assert s.certificate.max_length["float32"] == n  # the β that is needed is far below


def test_a_finite_mask_would_be_defeated() -> None:
    model = by_token({"a": Fraction(10**6), "b": Fraction(-(10**6))}, mask="<")
    huge = {(0, 0): 2.0**20}
    for word in ("ab", "ba", "bb"):
        found = running.values(model, huge, model.codes([word]))[0]
        assert np.allclose(found, np.array(model.values(word), dtype=float))
