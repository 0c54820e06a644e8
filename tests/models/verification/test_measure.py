"""Leaks as they are defined: the largest difference of two traces at a word's own positions."""

from __future__ import annotations

import numpy as np
import pytest

import softhat
from softhat.models.verification.measure import Meter
from softhat.models.verification.words import decode
from softhat.runtime.heard import listen


@pytest.mark.parametrize(
    "text", ["(!c S a) & Y (!a S b)", "a S (b & F c)", "#(a) > #>(b) + #*(c)", "X last & mod(2, 1)"]
)
def test_leaks_of_words_of_several_lengths(text: str) -> None:
    model = softhat.compile(text, alphabet="abc")
    hard = softhat.compile(model.formulas, alphabet="abc", attention="hard")
    rng = np.random.default_rng(1)
    groups = [rng.integers(0, 3, (count, n)) for count, n in ((3, 4), (5, 9), (2, 1))]
    meter = Meter(model)
    leaks = meter.leaks(listen(model.ready("float64"), groups), meter.hard(groups))
    longest_first = [word for k in (1, 0, 2) for word in groups[k]]
    assert leaks.shape == (len(longest_first), model.size.heads)
    for measured, word in zip(leaks, longest_first, strict=True):
        soft, exact = (each.run(decode(model, word)).head_outputs for each in (model, hard))
        own = model.transformer.own(len(word))
        expected = [
            np.abs(of_layer - other)[h, own].max()
            for of_layer, other in zip(soft, exact, strict=True)
            for h in range(len(of_layer))
        ]
        assert np.allclose(measured, expected, rtol=0, atol=1e-12)


def test_a_model_without_heads_has_none() -> None:
    assert not Meter(softhat.compile("a & !b", alphabet="ab")).able
