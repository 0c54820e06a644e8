"""Reachable sets hold every vector that some word produces, at its position."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from softhat.ahat.analysis import reach as module
from softhat.ahat.analysis.reach import reach
from softhat.ahat.analysis.structure import live
from softhat.ahat.exact import run
from softhat.ahat.gallery import GALLERY
from softhat.ahat.model import AHAT
from tests.ahat.models import random_model
from tests.slices import every

Vectors = list[set[tuple[Fraction, ...]]]


def reached(model: AHAT, n: int) -> Vectors | None:
    found = reach(model, n)
    if not found.complete:
        return None
    return [
        {tuple(Fraction(int(x), found.final_den) for x in row) for row in place}
        for place in found.final
    ]


def produced(model: AHAT, n: int) -> Vectors:
    """All words, the coordinates that are read at the end only."""
    kept = live(model)[1][-1] if model.layers else frozenset(range(model.d_model))
    words = np.array(list(product(range(len(model.alphabet)), repeat=n)))
    final = run(model, words).residual
    places: Vectors = [set() for _ in range(final.num.shape[1])]
    for word in final.num.tolist():
        for place, vector in enumerate(word):
            exact = tuple(Fraction(int(x), final.den) for x in vector)
            places[place].add(tuple(x if c in kept else Fraction(0) for c, x in enumerate(exact)))
    return places


@pytest.mark.parametrize("seed", every(3, range(20)))
def test_what_words_produce_is_reached(seed: int) -> None:
    model = random_model(random.Random(seed), layers=1 + seed % 2)
    kept = live(model)[1][-1]
    for n in range(1, min(model.longest or 4, 4) + 1):
        found = reached(model, n)
        if found is None:
            continue
        hidden = [
            {tuple(x if c in kept else Fraction(0) for c, x in enumerate(v)) for v in place}
            for place in found
        ]
        for place, words in zip(hidden, produced(model, n), strict=True):
            assert words <= place


def test_the_caps_say_why() -> None:
    model = GALLERY["bounded-dyck-2"]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_ENTRIES", 1)
        found = reach(model, 6)
    assert found.complete or found.reason
