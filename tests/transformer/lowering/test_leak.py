"""Raw head outputs stay within the leak that their theorem states; attention is a softmax."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from softhat.models.compiler import compile
from softhat.program.evaluate import evaluate
from softhat.program.heads import Average, Latest, Previous, Shift, StrictLatest
from softhat.program.schedule import schedule
from softhat.transformer.lowering.heads import SHARPNESS
from tests.transformer.lowering.suite import formulas, long_words

SUITE = formulas()


def bound(signal: object, c: float) -> float:
    """The design's bounds on the leak, for sharpness C (and C' = 2C)."""
    match signal:
        case Latest() | StrictLatest():
            return exp(-c)
        case Shift():  # shift_leak of proofs/Shift.v
            return exp(-c) + 2 * exp(-2 * c) / (1 - exp(-c))
        case Previous():
            return (exp(-2 * c) + exp(-3 * c)) / (1 - exp(-2 * c))
        case Average():
            return 0.0
        case _:
            return exp(-c) / (1 - exp(-4))


def assert_average(out: np.ndarray, sums: np.ndarray, over: str) -> None:
    """The mean of the values divided by a power of two, so that it lies in [-1, 1]."""
    n = len(sums)
    i = np.arange(1, n + 1)
    want = sums / {"past": i + 1, "future": n + 2 - i, "total": n + 2}[over]
    ratios = want[out != 0] / out[out != 0]
    scale = ratios[0] if len(ratios) else 1.0
    assert np.log2(scale) % 1 == pytest.approx(0, abs=1e-9)
    assert np.allclose(out * scale, want, atol=1e-12)
    assert np.abs(out).max() <= 1


@pytest.mark.parametrize("attention", ["unbounded", "temperature"])
@pytest.mark.parametrize("number", range(0, len(SUITE), 6))
def test_leak(number: int, attention: str) -> None:
    formula = SUITE[number]
    model = compile(formula, alphabet="ab", attention=attention)
    program = model.program
    layers = schedule(program).layers
    for codes in long_words(60, 2, number):
        exact = evaluate(program, codes)
        trace = model.run("".join("ab"[c] for c in codes))
        end = -1 if model.transformer.has_eos else None
        for number_, layer in enumerate(layers):
            scores = trace.scores[number_]
            top = scores.max(axis=-1, keepdims=True)
            seen = top[..., 0] > -np.inf  # a sink before which there is nothing sees no key
            assert seen[:, 1:end].all()
            assert np.allclose(trace.attention[number_].sum(axis=-1), seen)
            above_underflow = scores - np.where(seen[..., None], top, 0) > -700
            assert (trace.attention[number_][above_underflow] > 0).all()
            for head, group in enumerate(layer.heads):
                c = SHARPNESS * (2 if group.wide else 1)
                for column, at in enumerate(group.signals):
                    signal = program.signals[at]
                    out = trace.head_outputs[number_][head, 1:end, column]
                    if isinstance(signal, Average):
                        assert_average(out, exact[at].astype(float), signal.range)
                    else:
                        error = np.abs(out - exact[at]).max()
                        assert error <= bound(signal, c) + 1e-12, (formula, signal)


def test_attention_is_softmax_of_scores() -> None:
    trace = compile("!b S a & #(a) >= #(b)", alphabet="ab").run("abbabaab")
    for scores, attention in zip(trace.scores, trace.attention, strict=True):
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        assert np.allclose(weights / weights.sum(axis=-1, keepdims=True), attention, atol=1e-15)
