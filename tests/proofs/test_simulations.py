"""Files of `softhat simulate --coq`: Coq accepts them, and refuses ones that were changed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from softhat.ahat.file import load
from softhat.ahat.model import AHAT, FeedForward, Head, Layer
from softhat.export.coq.checker import SAID, ask
from softhat.export.coq.simulations import simulation_theorem
from softhat.io.errors import SofthatError
from softhat.numbers.positions import Mod, Named, Table
from tests.proofs.coq import needs_coq

GALLERY = Path(__file__).parents[2] / "examples" / "ahat"


def _own() -> AHAT:
    """Two heads with ties, a hidden layer, tables and awkward rationals."""
    third = Fraction(1, 3)
    one, zero = Fraction(1), Fraction(0)
    head = Head(
        mask="<=",
        query=((one, third, zero),),
        key=((Fraction(2, 7), zero, one),),
        value=((zero, one, third),),
        output=((zero,), (Fraction(5, 2),), (one,)),
    )
    feed = FeedForward(
        ((one, -third, zero),), (Fraction(1, 5),), ((zero,), (one,), (third,)), (zero,) * 3
    )
    return AHAT(
        alphabet=("a", "b"),
        bos=True,
        positions=(Named("i/n"), Named("1/i"), Mod(3, 1), Table((zero, third, one))),
        embedding=((one, zero, zero), (zero, Fraction(-3, 4), zero)),
        bos_embedding=(zero, zero, one),
        position_embedding=(
            (one, zero, zero, zero), (zero, one, zero, third), (zero, zero, one, zero),
        ),
        layers=(Layer((head, head), feed), Layer((head,))),
        output_weights=(one, third, zero),
        output_bias=-third,
        eos_embedding=(zero, one, zero),
    )  # fmt: skip


def test_own_and_gallery_are_accepted() -> None:
    needs_coq()
    for model in (_own(), load(GALLERY / "induction-latest.json")):
        verdict = ask(simulation_theorem(model, 1e-3))
        assert verdict.accepted, verdict.text
        assert verdict.text == SAID


def test_a_wrong_denominator_is_refused() -> None:
    needs_coq()
    text = simulation_theorem(_own(), 0.01)
    assert ask(text.replace("denominator : Z := 420", "denominator : Z := 210")).accepted is False
    assert "denominator : Z := 420" in text


@pytest.mark.full
@pytest.mark.parametrize("file", sorted(GALLERY.glob("*.json")), ids=lambda file: file.stem)
def test_the_whole_gallery_is_accepted(file: Path) -> None:
    needs_coq()
    verdict = ask(simulation_theorem(load(file), 1e-3))
    assert verdict.accepted, verdict.text


def test_ties_are_stated() -> None:
    """A row that scores nothing says leftmost, two say rightmost; an idle row of weights says
    nothing."""
    for name, rows in (("majority", 0), ("leftmost-b", 1), ("rightmost-b", 2)):
        text = simulation_theorem(load(GALLERY / f"{name}.json"), 1e-3)
        assert text.count("([], [])") == rows
    own = _own()
    zeros = ((Fraction(0),) * 3,)
    (first, *_), *rest = own.layers[0].heads, *own.layers[1:]
    idle = replace(first, query=zeros, key=zeros)
    model = replace(own, layers=(Layer((idle,)), *rest[-1:]))
    assert "([], [])" not in simulation_theorem(model, 1e-3)


def test_what_is_not_covered_is_said() -> None:
    with pytest.raises(SofthatError, match="greater than 0"):
        simulation_theorem(_own(), 0.0)
