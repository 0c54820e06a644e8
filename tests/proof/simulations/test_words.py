"""The checker's hard attention against the definition of the tests."""

from __future__ import annotations

from fractions import Fraction

import pytest

from softhat.proof.simulations.words import all_words, gap_of, run, winners
from tests.ahat.definition import evaluate
from tests.proof.simulations.claims import random_source, source_of


@pytest.mark.parametrize("seed", range(10))
def test_values_are_those_of_the_definition(seed: int) -> None:
    model = random_source(seed)
    source = source_of(model)
    for n in (1, 3):
        for word in list(all_words(source, n))[:4]:
            defined = evaluate(model, [model.alphabet[s] for s in word])
            assert list(run(source, word).values) == list(defined.values)


def test_rows() -> None:
    assert gap_of((3, None, 5, 5)) == 2
    assert gap_of((5, None, 5)) is None
    assert gap_of(()) is None
    assert winners((3, None, 5, 5)) == [2, 3]
    assert winners((None, None)) == []


def test_words_are_all_words() -> None:
    source = source_of(random_source(0))
    assert len(set(all_words(source, 3))) == len(source.alphabet) ** 3
    assert all(isinstance(v, Fraction) for v in run(source, (0,)).values)
