"""Theorem 6: the score of Sign, and that softmax then says whether a sum of counts is reached."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from softhat.numbers.positions import Named
from softhat.program.draft import Draft
from softhat.program.heads import Average, Range, Sign
from softhat.program.registers import Register
from softhat.program.signals import Program
from softhat.transformer.lowering.heads.sign import sign_scores, steepness
from softhat.transformer.lowering.rows import ORDINARY, Row
from tests.transformer.lowering.heads.suite import Array, scale, sharpnesses, softmax, wiring, words

RANGES: tuple[Range, ...] = ("past", "future", "total")


def means(program: Program, word: NDArray[np.int64]) -> dict[int, Array]:
    """Of each Average, at every position, the sinks included in what it is over."""
    n = len(word)
    values = np.array([0.0, *np.where(word == 0, 2.0, -1.0), 0.0])
    found = {}
    for at, signal in enumerate(program.signals):
        if isinstance(signal, Average):
            seen = {
                "past": [values[: i + 1].mean() for i in range(n + 2)],
                "future": [values[i:].mean() for i in range(n + 2)],
                "total": [values.mean()] * (n + 2),
            }[signal.range]
            found[at] = np.array(seen)
    return found


@pytest.mark.parametrize("scaled", [False, True])
@given(
    word=words,
    c=sharpnesses,
    over=st.sets(st.sampled_from(RANGES), min_size=1),
    position=st.integers(-2, 2),
    length=st.integers(-1, 1),
    threshold=st.integers(-3, 4),
)
def test_the_answer(
    word: NDArray[np.int64],
    c: float,
    over: set[Range],
    position: int,
    length: int,
    threshold: int,
    scaled: bool,
) -> None:
    """Counts of 2·[a] - [b], in any ranges together."""
    draft = Draft("ab")
    a = draft.token(["a"])
    of = {
        r: draft.add(Average(((3, a.signal), (-1, -1)), r), r).signal for r in RANGES if r in over
    }
    head = Sign(of.get("past"), of.get("future"), of.get("total"), position, length, threshold)
    program = draft.finish({"out": draft.add(head, "head")})
    rows = wiring(program, scaled)
    made = sign_scores(head, c, rows)
    n = len(word)
    held = means(program, word)
    i = np.arange(n + 2)
    own = (i >= 1) & (i <= n)
    columns = {"1": np.ones(n + 2), "ordinary": own * 1.0, "i": own * i, "r": own * (n + 1 - i)}

    def side(row: Row) -> Array:
        total = np.zeros(n + 2)
        for at, w in row.items():
            if isinstance(at, Register):
                total += w * held[at.signal] / rows.scale(rows.terms(at.signal))
            else:
                assert isinstance(at, Named)
                total += w * columns[at.name] / (scale(n) if at.scaled else 1)
        return total

    found = sum(side(q)[:, None] * side(k)[None, :] for q, k in made.pairs)
    assert isinstance(found, np.ndarray)
    if scaled:
        found = found * c * scale(n)
    values = np.where(word == 0, 2, -1)
    sharp = 4 * c
    for at in range(1, n + 1):
        ahead, back = values[at - 1 :].sum(), values[:at].sum()
        sums = {"past": back, "future": ahead, "total": values.sum()}
        reached = sum(sums[r] for r in over) + position * at + length * n
        seen = range(at + 1) if made.mask == "<=" else range(at, n + 2)
        sink = 0 if made.mask == "<=" else n + 1
        assert found[at, sink] == pytest.approx(0, abs=1e-9)
        assert found[at, at] == pytest.approx(sharp * (reached - threshold + 0.5), abs=1e-6)
        weights = softmax(found[at][list(seen)])
        ordinary = 1 - weights[list(seen).index(sink)]
        if reached >= threshold:
            assert ordinary >= 1 - exp(-sharp / 2) - 1e-9
        else:
            assert ordinary <= exp(-sharp / 2) / (1 - exp(-sharp)) + 1e-9


def test_the_value_is_read_from_the_word_alone() -> None:
    """So that what the head returns is the weight of the word's own positions."""
    from softhat.transformer.lowering.heads import _value

    draft = Draft("ab")
    mean = draft.add(Average(((1, draft.token(["a"]).signal),), "past"), "mean").signal
    head = Sign(mean, None, None, 0, 0, 1)
    program = draft.finish({"out": draft.add(head, "head")})
    assert _value(head, wiring(program, False)) == {ORDINARY: 1.0}


@given(gain=st.floats(0.5, 64), opposed=st.floats(0, 50))
def test_steepness_is_the_least_power_of_two(gain: float, opposed: float) -> None:
    steep = steepness(gain, opposed)
    assert steep >= gain * (opposed + 1)
    assert steep == 1.0 or steep / 2 < gain * (opposed + 1)
    assert np.log2(steep) == int(np.log2(steep))
