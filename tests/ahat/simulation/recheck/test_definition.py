"""The re-check's exact evaluator against the definition of the tests."""

from __future__ import annotations

import json
import random

import pytest

from softhat.ahat.file import dumps
from softhat.ahat.gallery import GALLERY
from softhat.ahat.simulation.recheck.definition import Definition
from softhat.ahat.simulation.unique import tie_broken
from tests.ahat.definition import evaluate


@pytest.mark.parametrize("name", sorted(GALLERY))
def test_values_and_argmax_sets(name: str) -> None:
    model = tie_broken(GALLERY[name](), 5)
    stored = Definition(json.loads(dumps(model)))
    rng = random.Random(4)
    for n in (1, 2, 5):
        codes = tuple(rng.randrange(len(model.alphabet)) for _ in range(n))
        expected = evaluate(model, [model.alphabet[c] for c in codes])
        values, _ = stored.values(codes)
        assert values == list(expected.values)
