"""The re-check's exact evaluator against the definition of the tests."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from fractions import Fraction

import pytest

from softhat.ahat.file import dumps
from softhat.ahat.gallery import GALLERY
from softhat.ahat.simulation.recheck.definition import ExactDefinition
from softhat.ahat.simulation.unique import tie_broken
from softhat.numbers import predicates
from softhat.numbers.positions import DigitFeature, Holds, Mod
from tests.ahat.definition import evaluate
from tests.ahat.models import random_deep
from tests.slices import every


@pytest.mark.parametrize("name", sorted(GALLERY))
def test_values_and_argmax_sets(name: str) -> None:
    model = tie_broken(GALLERY[name](), 5)
    stored = ExactDefinition(json.loads(dumps(model)))
    rng = random.Random(4)
    for n in (1, 2, 5):
        codes = tuple(rng.randrange(len(model.alphabet)) for _ in range(n))
        expected = evaluate(model, [model.alphabet[c] for c in codes])
        values, _ = stored.values(codes)
        assert values == list(expected.values)


@pytest.mark.parametrize("seed", every(3, range(20)))
def test_ties_of_every_kind(seed: int) -> None:
    """Leftmost and rightmost, whose ties nothing has broken."""
    model = random_deep(random.Random(seed))
    stored = ExactDefinition(json.loads(dumps(model)))
    for word in ("a", "ab", "bba", "abab"):
        codes = tuple(model.alphabet.index(s) for s in word)
        assert stored.values(codes)[0] == list(evaluate(model, list(word)).values)


@pytest.mark.parametrize(
    "feature",
    [DigitFeature(1, 3, 1, -2), Mod(2, 1, sinks=False), Holds(predicates.named("prime"))],
)
def test_every_kind_of_feature(feature: DigitFeature | Mod | Holds) -> None:
    model = tie_broken(GALLERY["majority"](), 5)
    row = tuple((*weights, Fraction(c == 0)) for c, weights in enumerate(model.position_embedding))
    model = replace(model, positions=(*model.positions, feature), position_embedding=row)
    stored = ExactDefinition(json.loads(dumps(model)))
    for n in (1, 3, 6):
        codes = tuple(k % len(model.alphabet) for k in range(n))
        assert stored.values(codes)[0] == model.values([model.alphabet[c] for c in codes])
