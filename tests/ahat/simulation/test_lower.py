"""AHAT to transformer: in floats it computes the model, hard and soft, by the definitions."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from softhat.ahat.model import AHAT
from softhat.ahat.simulation.lower import VALUE, lower
from softhat.numbers.laws import Constant
from softhat.numerics.formats import format_of
from softhat.runtime.dense import Ready
from softhat.runtime.trace import trace
from tests.ahat import definition
from tests.ahat.models import random_model


def words(model: AHAT) -> list[tuple[int, ...]]:
    longest = min(model.longest or 4, 4)
    letters = range(len(model.alphabet))
    return [w for n in range(1, longest + 1) for w in product(letters, repeat=n)]


@pytest.mark.parametrize("seed", range(12))
def test_hard_attention_in_floats(seed: int) -> None:
    """Equal to the definition unless scores tie in rationals and not in floats."""
    model = random_model(random.Random(seed))
    t = lower(model, None)
    assert t.attention == "hard" and t.outputs == (VALUE,)
    ready = Ready(t, format_of("float64"))
    for word in words(model):
        wanted = definition.evaluate(model, [model.alphabet[k] for k in word])
        if _near_tie(wanted):
            continue
        found = trace(ready, np.array(word)).margins[VALUE]
        assert found == pytest.approx([float(v) for v in wanted.values], rel=1e-9, abs=1e-9)


def _near_tie(seen: definition.Defined) -> bool:
    """Thirds and the like: rational ties that floats may break."""
    for rows in seen.rows.values():
        for row in rows:
            scores = list(row.values())
            top = [s for s in scores if s == max(scores)]
            if len(top) > 1 and any(s.denominator & (s.denominator - 1) for s in scores):
                return True
    return False


@pytest.mark.parametrize("seed", range(12))
def test_a_law_multiplies_the_scores(seed: int) -> None:
    model = random_model(random.Random(seed))
    beta = Fraction(3, 2)
    t = lower(model, dict.fromkeys(model.heads, Constant(beta)))
    ready = Ready(t, format_of("float64"))
    for word in words(model)[::3]:
        seen = trace(ready, np.array(word))
        for number, layer in enumerate(model.layers):
            x = seen.residual[number]
            for h, head in enumerate(layer.heads):
                q, k = (x @ _matrix(m, model.d_model).T for m in (head.query, head.key))
                scores = float(beta) * q @ k.T
                shown = seen.scores[number][h] > -np.inf
                assert np.allclose(seen.scores[number][h][shown], scores[shown])


def _matrix(rows: tuple[tuple[Fraction, ...], ...], columns: int) -> np.ndarray:
    return np.array([[float(x) for x in row] for row in rows]).reshape(len(rows), columns)


def test_heads_of_one_layer_are_padded_and_named() -> None:
    model = random_model(random.Random(4))
    t = lower(model, {})
    for layer, hard in zip(t.layers, model.layers, strict=True):
        assert len(layer.labels) == len(hard.heads) == layer.query.shape[0]
        assert layer.masks == tuple(head.mask for head in hard.heads)
        for h, head in enumerate(hard.heads):
            constant = not any(map(any, head.query)) or not any(map(any, head.key))
            assert layer.kinds[h] == ("Average" if constant else "Select")
