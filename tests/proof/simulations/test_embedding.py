"""The first stream against the features themselves."""

from __future__ import annotations

from fractions import Fraction

import pytest

from softhat.ahat.model import AHAT
from softhat.numbers.positions import Feature
from softhat.proof.simulations.embedding import embedded
from softhat.proof.simulations.words import run
from tests.proof.simulations.claims import source_of
from tests.proof.simulations.test_embedding_features import FEATURES, ONE, ZERO, table_with_eos
from tests.proof.simulations.test_steps import holds


@pytest.mark.parametrize("feature", FEATURES, ids=str)
@pytest.mark.parametrize("sinks", [0, 1, 2])
def test_every_feature_at_every_position(feature: Feature, sinks: int) -> None:
    model = AHAT(
        alphabet=("a", "b"),
        bos=sinks > 0,
        positions=(feature,),
        embedding=((ZERO,), (Fraction(1, 7),)),
        bos_embedding=(Fraction(2, 5),) if sinks else None,
        eos_embedding=(Fraction(3),) if sinks > 1 else None,
        position_embedding=((ONE,),),
        layers=(),
        output_weights=(ONE,),
        output_bias=ZERO,
    )
    source = source_of(model)
    stream = embedded(source)
    for n in range(1, 10):
        seen = run(source, tuple(k % 2 for k in range(n))).streams[0].fractions()
        assert holds(stream, 0, seen, n)


def test_a_table_is_0_at_eos() -> None:
    source = source_of(table_with_eos())
    stream = embedded(source)
    for c in range(source.width):
        assert holds(stream, c, run(source, (0, 1)).streams[0].fractions(), 2)
