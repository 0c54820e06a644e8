"""The residual before the first layer holds whatever tokens and features give, sinks included."""

from __future__ import annotations

from fractions import Fraction

import pytest

import softhat
from softhat.ahat.analysis.portrait import source_of
from softhat.ahat.model import AHAT, Head, Layer
from softhat.numbers.positions import NAMES, DigitFeature, Feature, Mod, Named, Table, exact
from softhat.proof.simulations.embedding import embedded

ZERO, ONE = Fraction(0), Fraction(1)


def table_with_eos() -> AHAT:
    """A table of ones, which is 0 at `<eos>`, whose own 999/1000 is then the second best key."""
    return AHAT(
        alphabet=("a", "b"),
        bos=True,
        positions=(Table((ONE,) * 9), Named("1")),
        embedding=((ZERO,) * 3, (ZERO,) * 3),
        bos_embedding=(ZERO,) * 3,
        eos_embedding=(Fraction(999, 1000), ZERO, Fraction(9)),
        position_embedding=((ONE, ZERO), (ZERO, ONE), (ZERO, ZERO)),
        layers=(
            Layer(
                (
                    Head(
                        "none",
                        query=((ZERO, ONE, ZERO),),
                        key=((ONE, ZERO, ZERO),),
                        value=((ZERO, ZERO, ONE),),
                        output=((ZERO,), (ZERO,), (ONE,)),
                    ),
                )
            ),
        ),
        output_weights=(ZERO, ZERO, ONE),
        output_bias=Fraction(-1, 3),
    )


def test_a_table_is_0_at_eos() -> None:
    model = table_with_eos()
    found = softhat.analyze(model, up_to=4)
    law = found.gap_law[0, 0]
    assert found.min_gap[0, 0] == Fraction(1, 1000)
    assert law is not None and law.at(8) <= Fraction(1, 1000)
    soft = softhat.simulate(model, epsilon=0.01)
    for word in ("a", "ab", "abbaabba"):
        pairs = zip(soft.values(word), model.values(word), strict=True)
        assert all(abs(y - float(x)) <= 0.01 for y, x in pairs)


FEATURES: list[Feature] = [
    *(Named(name) for name in NAMES),
    Mod(3, 1),
    Mod(5, 0, sinks=False),
    Mod(97, 4),
    DigitFeature(1, 1, 2, -3),
    Table(tuple(Fraction(k % 4 + 2, 3) for k in range(12))),
]


@pytest.mark.parametrize("feature", FEATURES, ids=str)
@pytest.mark.parametrize("sinks", [0, 1, 2])
def test_features_lie_on_their_grids_and_in_their_ranges(feature: Feature, sinks: int) -> None:
    """Each exact value of a feature is a class's content, or an atom's value: on the grid of the
    atom, in its range, and differences of two positions on the grid of its differences."""
    model = AHAT(
        alphabet=("a",),
        bos=sinks > 0,
        positions=(feature,),
        embedding=((ZERO,),),
        bos_embedding=(ZERO,) if sinks else None,
        eos_embedding=(ZERO,) if sinks > 1 else None,
        position_embedding=((ONE,),),
        layers=(),
        output_weights=(ONE,),
        output_bias=ZERO,
    )
    state = embedded(source_of(model))
    for n in range(1, 9):
        rows = exact((feature,), n, bos=model.bos, eos=model.eos)
        values = [row[0] for row in rows]
        if not state.forms[0]:
            assert set(values) <= {k.content[0] for k in state.classes}
            continue
        (atom,) = (state.atoms[a] for a in state.forms[0])
        scale = Fraction(1)
        for generator, degree in atom.whole.degrees:
            if generator.role == "global":
                scale *= Fraction(n + generator.shift) ** degree
        local = any(generator.role != "global" for generator, _ in atom.whole.degrees)
        reach = state.form_range(state.forms[0])
        for x in values:
            assert reach.low.at(n) <= x <= reach.high.at(n)
            assert local or (x * scale / atom.whole.unit).denominator == 1
            for y in values:
                apart = (x - y) * scale
                if atom.apart.unit == 0:
                    assert apart == 0
                else:
                    assert local or (apart / atom.apart.unit).denominator == 1
