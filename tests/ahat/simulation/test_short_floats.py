"""Short lengths in floats: what blocks of positions do not prove, all words do."""

from __future__ import annotations

import math
import random
import warnings

import numpy as np
import pytest

import softhat
from softhat.ahat.exact import run
from softhat.ahat.gallery import GALLERY
from softhat.ahat.simulation.short_floats import by_words, can_be_short, short_error
from softhat.ahat.simulation.simulation import Simulation
from softhat.ahat.words import all_words
from softhat.numerics.formats import FORMATS
from tests.ahat.models import random_program
from tests.ahat.running import known
from tests.slices import every


@pytest.mark.parametrize(
    ("name", "length"), every(3, [("dyck-argmin", 9), ("dyck-argmin", 6), ("sort", 6)])
)
def test_room_for_float32_without_asking(name: str, length: int) -> None:
    """β leaves 1 % of ε to rounding, which is less than that of any word."""
    s = softhat.simulate(GALLERY[name](), max_length=length, epsilon=1e-3)
    assert s.certificate.max_length["float32"] == length
    rng = random.Random(length)
    for _ in range(200):
        word = rng.choices(s.source.alphabet, k=length)
        exact = [float(v) for v in s.source.values(word)]
        assert np.abs(s.margins(word, dtype="float32") - exact).max() <= 1e-3


def test_sort_at_every_length() -> None:
    """Scores of different letters tie beyond 8 symbols; the runtime is off by less than ε there."""
    source = GALLERY["sort"]()
    s = softhat.simulate(source, epsilon=1e-3)
    assert s.certificate.max_length["float32"] >= 16
    for word in ("abc" + 9 * "d", "aabbcc" + 10 * "d", "abccddddddddddddd"):
        exact = [float(v) for v in source.values(word[:16])]
        assert np.abs(s.margins(word[:16], dtype="float32") - exact).max() <= 1e-3


@pytest.mark.full
def test_sort_with_room_for_float32() -> None:
    """Within 4 times of the first failure that a search finds, at 276."""
    s = softhat.simulate(GALLERY["sort"](), epsilon=1e-3, dtype="float32")
    assert s.certificate.max_length["float32"] >= 69
    for length in (12, 24, 49):
        s = softhat.simulate(GALLERY["sort"](), max_length=length, epsilon=1e-3, dtype="float32")
        assert s.certificate.max_length["float32"] == length


def test_errors_and_decisions_of_all_words() -> None:
    rng = random.Random(5)
    for _ in range(6):
        model = random_program(rng)
        if not can_be_short(model, 3):
            continue
        betas = {name: rng.choice([2.0, 9.75, 208.0]) for name in model.heads}
        codes = np.concatenate(list(all_words(len(model.alphabet), 3)))
        trace = run(model, codes)
        exact = trace.output.floats()[:, trace.own]
        for dtype, form in FORMATS.items():
            claimed = by_words(model, [trace], betas, form)
            assert claimed is not None
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = Simulation(model, betas, 3).run_batch(codes, dtype)[..., 0]
            found = found.astype(np.float64)
            assert np.abs(found - exact).max() <= claimed.error
            assert claimed.error <= short_error(model, 3, betas, form, 0.0, known(model)) * (
                1 + 1e-12
            )
            if claimed.right:
                assert ((found > 0) == (exact > 0)).all()
                assert claimed.margin <= np.abs(found).min()


def test_many_words_that_are_no_bags() -> None:
    model = GALLERY["induction-latest"]()
    assert not can_be_short(model, 40)
    betas = dict.fromkeys(model.heads, 1.0)
    assert short_error(model, 40, betas, FORMATS["float32"], 1.0, known(model)) == math.inf
