"""Kernels of the linear runtime against the softmax that they sum, and chunk against step."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softhat.runtime.linear.columns import View
from softhat.runtime.linear.kernels import (
    HeadKernel,
    LocalKernel,
    RampKernel,
    StrictKernel,
    UniformKernel,
    Word,
    pack,
)
from softhat.transformer.shapes import HeadForm, Local, Penalty, Ramp, Shape, Uniform
from softhat.transformer.weights import Mask
from tests.slices import examples

VALUE, BAD = 0, 1
words = st.lists(st.integers(0, 3), min_size=1, max_size=40)
"""Two bits a position: the value, and whether the key is ruled out (then its value is 0)."""


def head(shape: Shape, mask: Mask = "<=") -> HeadForm:
    return HeadForm(mask, shape, (((VALUE, 1.0),),), ((),))


def columns(word: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Time 0 is the sink, where everything is 0."""
    bad = np.array([0, *(x >> 1 for x in word)], np.float64)
    value = np.array([0, *(x & 1 for x in word)], np.float64) * (1 - bad)
    return value, bad


def run(kernel: HeadKernel, word: list[int], cut: int) -> list[float]:
    """In chunks of `cut` times; one by one must be the same."""
    value, bad = columns(word)
    n = len(word)
    asked = Word(n, float(1 << (n + 1).bit_length()))
    state, found = kernel.fresh(), []
    for start in range(0, n + 1, cut):
        part = slice(start, start + cut)
        seen = View([value[part], bad[part]], len(value[part]))
        found += kernel.chunk(state, seen, start, asked)[0].tolist()
    state = kernel.fresh()
    single = [kernel.step(state, [value[t], bad[t]], t, asked)[0] for t in range(n + 1)]
    assert single == pytest.approx(found, rel=1e-12, abs=1e-15)
    return found


def softmax(scores: list[float], values: list[float]) -> float:
    if not scores:
        return 0.0
    weights = np.exp(np.array(scores) - max(scores))
    return float(weights @ np.array(values) / weights.sum())


@pytest.mark.parametrize(
    ("slope", "even", "scaled", "strict"),
    [
        (4.0, 16.0, None, False),  # Previous
        *((slope, 0.0, scaled, strict)  # Latest, and StrictLatest
          for slope in (4.0, 8.0) for scaled in (None, False, True) for strict in (False, True)),
    ],
)  # fmt: skip
@given(word=words, cut=st.integers(1, 17))
@settings(max_examples=15)
def test_local(
    slope: float, even: float, scaled: bool | None, strict: bool, word: list[int], cut: int
) -> None:
    """Theorem 21: -slope·d - even·[d even], less the penalty on keys that are ruled out."""
    penalty = None if scaled is None else Penalty(((BAD, 1.0),), 2 * slope, scaled)
    taps = int((38 + min(even, slope)) // slope) + 1
    shape = Local(slope, even, penalty, taps)
    made = (StrictKernel if strict else LocalKernel)(head(shape, "<" if strict else "<="), shape)
    if scaled is None:
        word = [x & 1 for x in word]
    found = run(made, word, cut)
    value, bad = columns(word)
    n = len(word)
    p = float(1 << (n + 1).bit_length())
    for t, mean in enumerate(found):
        seen = range(t) if strict else range(t + 1)
        cost = 0.0 if penalty is None else penalty.weight * (p if scaled else t)
        scores = [-slope * (t - j) - even * ((t - j) % 2 == 0) - cost * bad[j] for j in seen]
        assert mean == pytest.approx(softmax(scores, [value[j] for j in seen]), abs=1e-14)


@given(word=words, cut=st.integers(1, 17))
def test_uniform(word: list[int], cut: int) -> None:
    found = run(UniformKernel(head(Uniform())), word, cut)
    value, _ = columns(word)
    for t, mean in enumerate(found):
        assert mean == pytest.approx(value[: t + 1].mean())


@given(
    word=words,
    cut=st.integers(1, 17),
    own=st.tuples(*(st.integers(-3, 3) for _ in range(3))),
    slope=st.sampled_from([0.5, 4.0, 16.0]),
    content=st.integers(-4, 4),
)
@examples(60)
def test_ramp(
    word: list[int], cut: int, own: tuple[int, int, int], slope: float, content: int
) -> None:
    """Theorem 22: L - B·d on the word's own positions, 0 at the sink, whose value is 0."""
    shape = Ramp(
        (own[0] * 1.0, own[1] / 4, own[2] / 4), slope, ((VALUE, (content * 1.0, 0.0, 0.0), 0.0),)
    )
    made = RampKernel(HeadForm("<=", shape, (((7, 1.0),),), ((),)), shape)
    found = run(made, word, cut)
    value, _ = columns(word)
    n = len(word)
    for t in range(1, n + 1):
        logit = own[0] + own[1] / 4 * t + own[2] / 4 * (n + 1 - t) + content * value[t]
        odds = sum(exp(logit - slope * d) for d in range(t))
        assert found[t] == pytest.approx(odds / (1 + odds), rel=1e-9, abs=1e-15)
    assert found[0] == 0.0


@given(st.lists(st.integers(0, 1), min_size=1, max_size=50), st.integers(0, 2**15 - 1))
def test_packed_bits(bits: list[int], before: int) -> None:
    found = pack(np.array(bits, np.uint8), before)
    state = before
    for bit, code in zip(bits, found.tolist(), strict=True):
        state = (state << 1 | bit) & 0xFFFF
        assert code == state
