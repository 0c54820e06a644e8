"""What weights say of all words: uniform heads are uniform, exact coordinates have no error."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from softhat.ahat.analysis.analyze import analyze
from softhat.ahat.analysis.structure import erroneous, error_free, live, looks_back, structure
from softhat.ahat.exact import run
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT
from softhat.ahat.simulation.lower import lower
from softhat.numbers.laws import Constant
from softhat.numerics.formats import format_of
from softhat.runtime.dense import Ready
from softhat.runtime.trace import trace
from tests.ahat import definition
from tests.ahat.models import random_model
from tests.slices import sizes

MODELS = [random_model(random.Random(seed)) for seed in range(25)]
MODELS += [GALLERY[name]() for name in sorted(GALLERY)[::2]]


def words(model: AHAT) -> list[np.ndarray]:
    letters = range(len(model.alphabet))
    longest = min(model.longest or 4, 4)
    return [np.array(w) for n in range(1, longest + 1) for w in product(letters, repeat=n)][:60]


def test_uniform_heads_are_uniform_on_every_word() -> None:
    some = 0
    for model in MODELS:
        uniform = {name for name, fact in structure(model).items() if fact.uniform}
        some += len(uniform)
        for word in words(model):
            layers = run(model, word[None]).layers
            for l, h in uniform:
                head = layers[l].heads[h]
                assert (head.highest.sum(axis=2) == head.mask.sum(axis=1)).all()
    assert some > 10


def test_a_unique_head_without_scores_has_equal_scores_and_is_not_uniform() -> None:
    """Each position sees one number everywhere, and takes the rightmost of its keys."""
    model = GALLERY["no-two-b"]()
    fact = structure(model)[0, 0]
    assert fact.equal_scores and not fact.uniform
    for word in words(model):
        head = run(model, word[None]).layers[0].heads[0]
        assert len(set(head.scores.num[0][head.mask].tolist())) <= 1
    found = analyze(model, up_to=4)
    assert found.gap_law[0, 0] is None and found.min_gap[0, 0] == math.inf
    assert found.kinds[0, 0] == "unique"


def test_coordinates_without_error_have_none_at_any_temperature() -> None:
    """The softmax model at a mild β, beside exact hard attention."""
    for model in MODELS:
        laws = {name: Constant(Fraction(3, 4)) for name in model.heads}
        soft = Ready(lower(model, laws), format_of("float64"))
        hard = Ready(lower(model, None), format_of("float64"))
        if any(head.ties != "average" for layer in model.layers for head in layer.heads):
            continue
        for word in words(model)[::5]:
            one, other = trace(soft, word).residual, trace(hard, word).residual
            for at, wrong in enumerate(erroneous(model)):
                right = [c for c in range(model.d_model) if c not in wrong]
                scale = 1 + np.abs(other[at][:, right]).max(initial=0.0)
                assert np.allclose(one[at][:, right], other[at][:, right], atol=1e-9 * scale)


def test_what_is_not_live_is_never_read_again() -> None:
    """Set to anything after a layer, it does not change the values."""
    rng = np.random.default_rng(2)
    for model in MODELS:
        hard = Ready(lower(model, None), format_of("float64"))
        _, after = live(model)
        for word in words(model)[::9]:
            x = hard.embed(word[None])
            for number, layer in enumerate(hard.layers):
                x, _ = hard.step(layer, x, keep=False)
                dead = [c for c in range(model.d_model) if c not in after[number]]
                one, two = x, x.copy()
                two[..., dead] = rng.normal(size=two[..., dead].shape)
                for later in hard.layers[number + 1 :]:
                    one, two = (hard.step(later, y, keep=False)[0] for y in (one, two))
                assert np.allclose(hard.margins(one), hard.margins(two), atol=1e-9)


def test_a_model_of_uniform_heads_is_error_free() -> None:
    assert error_free(GALLERY["majority"]()) and not error_free(GALLERY["first-token"]())


@pytest.mark.parametrize("step", sizes(3, 1))
def test_a_model_that_looks_back_has_the_rows_of_its_prefixes(step: int) -> None:
    """By the definition, on every word of length 3 and its prefix."""
    models = [model for model in MODELS if looks_back(model)]
    assert 3 <= len(models) < len(MODELS)
    for model in models[::step]:
        for word in product(model.alphabet, repeat=3):
            whole, part = (definition.evaluate(model, w).rows for w in (word, word[:-1]))
            assert all(rows[:-1] == part[name] for name, rows in whole.items())
