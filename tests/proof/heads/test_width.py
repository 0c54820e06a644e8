"""Width: the sinks' share of attention, in the reals and in number formats."""

from __future__ import annotations

from dataclasses import replace
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softhat
from softhat.frontends.rasp import lib
from softhat.io.errors import VoidError
from softhat.models.value_model import ValueModel
from softhat.numbers.positions import Named
from softhat.numerics.formats import FORMATS, format_of
from softhat.program.draft import Draft
from softhat.program.gates import Steps
from softhat.program.heads import Mask, Selector
from softhat.program.heads import Width as WidthHead
from softhat.program.signals import Program
from softhat.proof.heads.width import WidthKind
from softhat.proof.program_atoms import Share
from softhat.runtime.dense import Ready
from softhat.runtime.trace import trace
from softhat.transformer.lowering.lower import lower
from softhat.transformer.weights import Attention, Sparse
from tests.proof.heads.suite import ATTENTIONS, Derived, scaled
from tests.proof.planting import coordinates_of, with_feature_twice, with_layer

MASKS: tuple[Mask, ...] = ("none", "<=", "<", ">=", ">")


def program_of(mask: Mask) -> Program:
    """How many keys are a, for every query."""
    draft = Draft("ab")
    a, b = draft.token(["a"]), draft.token(["b"])
    width = draft.add(WidthHead(Selector((a, b), (a,), ((0, 0), (1, 0)), mask, 50)), "w").signal
    return draft.finish({"out": draft.add(Steps(width, (1,)), "some")})


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("mask", MASKS)
def test_it_is_recognised(mask: Mask, attention: Attention) -> None:
    t = lower(program_of(mask), attention)
    derived = Derived(t)
    kind = derived.kind("Width")
    assert isinstance(kind, WidthKind) and kind.gap == 9.0  # ⌈ln(64·50)⌉
    assert kind.blind == (mask in ("<", ">"))
    (share,) = (cell for cell in derived.attended if isinstance(cell, Share))
    assert share.sinks == (len(t.sinks) if mask == "none" else 1)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_share_is_as_near_as_stated(mask: Mask, dtype: str) -> None:
    t = lower(program_of(mask), "unbounded")
    kind = Derived(t).kind("Width")
    assert isinstance(kind, WidthKind)
    n = 50
    form = FORMATS[dtype]
    kind.bound(n, form)
    epsilon, delta = kind.share(n, form)
    rng = np.random.default_rng(9)
    s = len(t.sinks) if mask == "none" else 1
    for word in (rng.integers(0, 2, n), np.zeros(n, np.int64), np.ones(n, np.int64)):
        out = trace(Ready(t, format_of(dtype)), word).head_outputs[0][0, 1 : n + 1, 0]
        for i, found in enumerate(out.astype(np.float64), start=1):
            seen = {
                "none": word, "<=": word[:i], "<": word[: i - 1], ">=": word[i - 1 :], ">": word[i:]
            }[mask]  # fmt: skip
            w = int((seen == 0).sum())
            assert s / (s + w + epsilon) * (1 - delta) <= found <= s / (s + w) * (1 + delta)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 2), st.integers(3, 30))
def test_the_share_in_the_reals(match: int, other: int, sinks: int, gap: int) -> None:
    """Theorem 8: w keys and s sinks at b, the others at 0."""
    kind = WidthKind("unbounded", "none", float(gap), (), 1.0)
    share = sinks / (sinks + match + other * exp(-gap))
    epsilon = sinks / share - sinks - match
    assert -1e-9 <= epsilon <= (match + other) * exp(-gap) + 1e-9
    if match + other <= kind.reach:
        assert epsilon <= 1 / 64 + 1e-9


def test_weights_that_do_not_meet_the_theorem_are_refused() -> None:
    t = lower(program_of("none"), "unbounded")
    rows = t.layers[0].query.shape[1]
    with pytest.raises(VoidError, match="do not score as a match does"):
        Derived(scaled(t, "query", rows - 1, 0.5))
    with pytest.raises(VoidError, match="not 1 at the sinks"):
        Derived(scaled(t, "value", 0, 2.0))


@pytest.mark.parametrize("feature", ["1", "ordinary"])
@pytest.mark.parametrize("tensor", ["value", "key"])
@pytest.mark.parametrize("weight", [1.0, -1.0])
def test_a_feature_that_stands_in_two_coordinates(feature: str, tensor: str, weight: float) -> None:
    """Facts are about coordinates: what a second one holds is added, not said twice."""
    model = softhat.compile(lib.make_hist(), alphabet="abcd", max_length=64)
    assert not model.certificate.void
    t, second = with_feature_twice(model.transformer, Named(feature))
    (first,) = coordinates_of(model.transformer, feature)
    for k, layer in enumerate(t.layers):
        dense = getattr(layer, tensor).dense()
        for h, r in np.argwhere(dense[:, :, first]).tolist():
            changed = dense.copy()
            changed[h, r, second] = weight * changed[h, r, first]
            made = with_layer(t, k, replace(layer, **{tensor: Sparse.from_dense(changed)}))
            assert ValueModel(made, model.compiled, model.name).certificate.void
