"""Average: a mean of integers is exact in a format as long as its sums are, and not beyond."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from softhat.io.errors import VoidError
from softhat.numerics.formats import FORMATS, format_of
from softhat.program.draft import Draft
from softhat.program.evaluate import evaluate
from softhat.program.heads import Average as AverageHead
from softhat.program.heads import Range
from softhat.program.signals import Number, Program
from softhat.proof.cells import Mean
from softhat.proof.heads.average import AverageKind
from softhat.proof.softmax import EXACT
from softhat.runtime.dense import Ready
from softhat.runtime.trace import trace
from softhat.transformer.lowering.lower import lower
from tests.proof.heads.suite import Derived, scaled

RANGES: tuple[Range, ...] = ("past", "future", "total")


def program_of(over: Range, weight: int = 3) -> Program:
    """The mean of weight·[a] - 2·[b]."""
    draft = Draft("abc")
    a, b = draft.token(["a"]), draft.token(["b"])
    mean = draft.add(AverageHead(((weight, a.signal), (-2, b.signal)), over), "mean").signal
    return draft.finish({}, {"mean": Number(((Fraction(1), mean),), Fraction(0))})


@pytest.mark.parametrize("over", RANGES)
def test_it_is_recognised_with_the_values_it_can_have(over: Range) -> None:
    derived = Derived(lower(program_of(over), "unbounded"))
    kind = derived.kind("Average")
    assert isinstance(kind, AverageKind) and kind.over == over
    # Values are divided by 4, the power of two that is at least 3; a and b exclude each other.
    assert (kind.low, kind.high, kind.grid, kind.mass) == (-0.5, 0.75, 0.25, 1.25)
    assert kind.leak == 0.0
    space = derived.atoms.space
    (mean,) = (cell for cell in derived.attended if isinstance(cell, Mean))
    terms = {(Fraction(3, 4), space.symbol("a")), (Fraction(-1, 2), space.symbol("b"))}
    assert set(mean.terms) == terms and mean.over == over


@pytest.mark.parametrize("over", RANGES)
@pytest.mark.parametrize("dtype", FORMATS)
def test_where_sums_are_exact_the_mean_is_rounded_once(over: Range, dtype: str) -> None:
    program = program_of(over)
    t = lower(program, "unbounded")
    ready, form = Ready(t, format_of(dtype)), format_of(dtype)
    kind = Derived(t).kind("Average")
    rng = np.random.default_rng(1)
    n = 90
    assert kind.bound(n, FORMATS[dtype]) is EXACT
    word = rng.integers(0, 3, n)
    out = trace(ready, word).head_outputs[0][0, 1 : n + 1, 0].astype(np.float64)
    at = next(k for k, signal in enumerate(program.signals) if isinstance(signal, AverageHead))
    size = {"past": range(2, n + 2), "future": range(n + 1, 1, -1), "total": [n + 1] * n}[over]
    if over == "total" and t.has_eos:
        size = [n + 2] * n
    for found, whole, count in zip(out, evaluate(program, word)[at].tolist(), size, strict=True):
        exact = Fraction(int(whole), 4 * count)
        once = 2.0**-form.digits + 2.0**-form.sum_digits
        assert abs(Fraction(float(found)) - exact) <= abs(exact) * Fraction(once) * 2


def test_sums_that_are_not_exact_are_refused() -> None:
    """float32 sums hold 2^24 quarters: values reach 3 quarters."""
    kind = Derived(lower(program_of("past"), "unbounded")).kind("Average")
    form = FORMATS["float32"]
    last = 2**24 // 3
    assert kind.bound(last, form) is EXACT
    with pytest.raises(VoidError, match="sums of values are not exact"):
        kind.bound(last + 1, form)
    heavy = Derived(lower(program_of("past", 2049), "unbounded")).kind("Average")
    with pytest.raises(VoidError):
        heavy.bound(1, FORMATS["float16"])
    assert heavy.bound(1, form) is EXACT


def test_what_it_averages_is_stored_bits() -> None:
    t = lower(program_of("past"), "unbounded")
    with pytest.raises(VoidError, match="scales what it writes"):
        Derived(scaled(t, "output", t.layers[0].output.where[1][0], 2.0))
