"""Attention of one head against its definition, however words are batched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softhat.numerics.formats import FORMATS, NARROW, format_of
from softhat.runtime import attend
from softhat.runtime.attend import Attention
from softhat.transformer.weights import Mask

MASKS: tuple[Mask, ...] = ("none", "<=", "<", ">=", ">")


def defined(q: Any, k: Any, v: Any, mask: Mask, beta: float, hard: bool) -> np.ndarray:
    """Row by row, in float64: softmax of the scores that the mask shows, 0 where it shows none."""
    rows = v.shape[1]
    out = np.zeros(v.shape)
    for i in range(rows):
        seen = {
            "none": range(rows), "<=": range(i + 1), "<": range(i),
            ">=": range(i, rows), ">": range(i + 1, rows),
        }[mask]  # fmt: skip
        if not seen:
            continue
        scores = np.array([beta * (q[:, i] @ k[:, j]) for j in seen])
        weights = (scores == scores.max()) * 1.0 if hard else np.exp(scores - scores.max())
        out[:, i] = v[:, list(seen)] @ weights / weights.sum()
    return out


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("mask", MASKS)
@given(
    rows=st.integers(1, 9),
    words=st.sampled_from([1, 3, 40]),
    size=st.integers(0, 5),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=25)
def test_every_way_is_the_definition(
    mask: Mask, hard: bool, rows: int, words: int, size: int, seed: int
) -> None:
    """Small integers: scores are exact, so that ties are ties in every way of adding."""
    rng = np.random.default_rng(seed)
    q, k = (rng.integers(-2, 3, (size, rows, words)).astype(np.float64) for _ in range(2))
    v = rng.integers(-3, 4, (2, rows, words)).astype(np.float64)
    found = Attention(format_of("float64"), hard)(q, k, v, mask, 0.5)
    for word in range(words):
        wanted = defined(q[..., word], k[..., word], v[..., word], mask, 0.5, hard)
        assert np.allclose(found[..., word], wanted, atol=1e-12)


@pytest.mark.parametrize("mask", MASKS)
def test_long_words_skip_nothing_that_counts(mask: Mask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and tiles of a word of 300 rows, of which most weights underflow."""
    rng = np.random.default_rng(3)
    rows = 300
    q = np.stack([np.ones(rows), -np.arange(rows, dtype=float)])
    k = np.stack([np.arange(rows, dtype=float), np.ones(rows)])
    v = rng.normal(size=(1, rows))
    found = Attention(format_of("float64"), False)
    whole = found(q[..., None], k[..., None], v[..., None], mask, 3.0)[..., 0]
    assert np.allclose(whole, defined(q, k, v, mask, 3.0, False), atol=1e-12)
    monkeypatch.setattr(attend, "TILE", 32)
    tiled = found(q[..., None], k[..., None], v[..., None], mask, 3.0)[..., 0]
    assert np.allclose(whole, tiled, atol=1e-12)


@pytest.mark.parametrize("dtype", FORMATS)
def test_maps_are_what_the_output_is_made_of(dtype: str) -> None:
    rng = np.random.default_rng(4)
    form = format_of(dtype)
    q, k = (form.load(rng.normal(size=(2, 12))) for _ in range(2))
    v = form.load(rng.normal(size=(3, 12)))
    attention = Attention(form, False)
    scores, weights = attention.maps(q, k, "<", 2.0)
    assert (scores[0] == -np.inf).all() and not weights[0].any()
    assert np.allclose(weights[1:].sum(axis=1), 1, atol=4 * 2.0**-form.digits)
    out = attention(q[..., None], k[..., None], v[..., None], "<", 2.0)[..., 0]
    assert np.allclose(out, v @ weights.T, atol=8 * 2.0**-form.digits)


def test_scores_of_many_products_are_summed_in_float64() -> None:
    """2^24 + 1 - 2^24 is 0 where it is added up in float32."""
    attention = Attention(format_of("float32"), False)
    key = np.array([[2.0**24], [1.0], [-(2.0**24)], [0.0]], np.float32)
    assert len(key) > NARROW
    (score,) = attention.maps(np.ones_like(key), key, "none", 1.0)[0]
    assert score.tolist() == [1.0]
    assert attention.summing(NARROW) is np.float32
    assert attention.summing(NARROW + 1) is np.float64


@pytest.mark.parametrize("mask", ["<=", "none"])
@pytest.mark.parametrize("words", [5, 1 << 11])
def test_a_word_alone_is_read_as_among_others(mask: Mask, words: int) -> None:
    """To the last bit: also where one word is left of what is computed at a time."""
    rng = np.random.default_rng(3)
    rows = attend.CACHE // (words - 1) if words > 5 else 11
    q, k, v = rng.normal(size=(3, 2, rows, words)).astype(np.float32)
    attention = Attention(format_of("float32"), False)
    together = attention._across(q, k, v, mask, 1.0)
    last = slice(words - 1, words)
    alone = attention._across(q[..., last], k[..., last], v[..., last], mask, 1.0)
    assert np.array_equal(alone, together[..., last])
    flat = k.reshape(2, -1), v.reshape(2, -1)
    columns = np.arange(rows * words).reshape(rows, words)
    for some in (slice(0, 1), slice(0, words)):
        read = attention.one_row(q[:, -1, some], *flat, columns[:, some], 1.0)
        assert np.array_equal(read, together[:, -1, some])


def drawn(rng: Any, size: int, rows: int, words: int, dtype: str) -> tuple[Any, Any, Any]:
    """Queries, keys and values, all of a format."""
    form = format_of(dtype)
    q, k = (form.load(2 * rng.normal(size=(size, rows, words))) for _ in range(2))
    return q, k, form.load(2 * rng.normal(size=(2, rows, words)))


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("hard", [False, True])
def test_several_queries_at_a_time_read_the_same(
    mask: Mask, hard: bool, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last bit, however many are computed at a time."""
    rng = np.random.default_rng(5)
    attention = Attention(format_of(dtype), hard)
    for size, rows, words in ((1, 2, 4), (2, 9, 16), (NARROW + 1, 30, 17)):
        q, k, v = drawn(rng, size, rows, words, dtype)
        reads = []
        for most in (0, 2 * rows * words, 5 * rows * words, 1 << 20):
            monkeypatch.setattr(attend, "SHORT", most)
            reads.append(attention(q, k, v, mask, 1.5))
        for read in reads[1:]:
            assert np.array_equal(read, reads[0])


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("rows", [60, 140, 300])
def test_words_that_are_nearly_the_same_read_what_each_reads_alone(
    mask: Mask, dtype: str, rows: int
) -> None:
    """To the last bit: words of which a head sees nothing new share what is read."""
    rng = np.random.default_rng(rows)
    for hard, size in ((False, 1), (False, NARROW + 1), (True, 2)):
        attention = Attention(format_of(dtype), hard)
        q, k, v = (np.repeat(x, 11, axis=2) for x in drawn(rng, size, rows, 1, dtype))
        for word in (2, 3, 7, 10):
            for x in (q, k, v):
                x[:, rng.integers(rows, size=3), word] = 1
        v[0, rows // 2, 5] = np.nan
        together = attention(q, k, v, mask, 0.5)
        for word in range(11):
            own = slice(word, word + 1)
            alone = attention(q[..., own], k[..., own], v[..., own], mask, 0.5)
            assert np.array_equal(together[..., own], alone, equal_nan=True)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("size", [0, 2, NARROW + 1])
def test_words_of_their_own_lengths(mask: Mask, dtype: str, size: int) -> None:
    """To the last bit what words of one length read, each length at its own temperature; what
    stands behind a word is ignored."""
    rng = np.random.default_rng(size)
    attention = Attention(format_of(dtype), False)
    counts, rows = (5, 9, 1, 6), (8, 5, 2, 1)
    betas = [float(beta) for beta in rng.uniform(0.5, 3, 4)]
    parts = [drawn(rng, size, r, count, dtype) for r, count in zip(rows, counts, strict=True)]
    q, k, v = whole = [np.full((len(x), rows[0], sum(counts)), np.nan, x.dtype) for x in parts[0]]
    starts = np.cumsum((0, *counts))
    for part, start, stop, r in zip(parts, starts, starts[1:], rows, strict=False):
        for x, own in zip(whole, part, strict=True):
            x[:, :r, start:stop] = own
    read = attention.of_lengths(q, k, v, mask, np.repeat(betas, counts), np.repeat(rows, counts))
    for part, start, stop, r, beta in zip(parts, starts, starts[1:], rows, betas, strict=False):
        if size:
            expected = attention._across(*part, mask, beta)
        else:
            expected = attention(*part, mask, beta)
        assert np.array_equal(read[:, :r, start:stop], expected)
