"""Programs in fewer layers compute the same, and there is a way back."""

from __future__ import annotations

import numpy as np
import pytest

from softhat.logic.random import random_formula
from softhat.logic.syntax.parse import parse
from softhat.program.build import build
from softhat.program.evaluate import outputs
from softhat.program.heads import Shift, StrictLatest
from softhat.program.schedule import schedule
from softhat.program.strict import FARTHEST, spelled_out, strict
from tests.slices import every
from tests.transformer.lowering.suite import all_codes, expected

CHAINS = [
    "Y (a S b)", "X (a U b)", "Y H a", "X G a", "Y Y a", "X X X !a", "Y !Y a", "Y Y (a S b)",
    "Y (a S b) & (a S b)", "Y a & Y Y a & Y Y Y a", "Y X Y a", "Y (Y a S b)", "Y Z Y Z a",
    "Y (a S X X b)", "Z O a", "N F a", "Y !(a S !b)", "Y Y O (b & Y Y a)", "#(Y Y a) >= 2",
]  # fmt: skip


@pytest.mark.parametrize("number", every(3, range(60)))
def test_both_ways_compute_the_formula(number: int) -> None:
    rng = np.random.default_rng(number)
    family = ("star-free", "past", "all")[number % 3]
    formula = (
        parse(CHAINS[number])
        if number < len(CHAINS)
        else random_formula(rng, 6 + number % 20, "ab", family)
    )
    short = strict(build({"f": formula}, "ab", False))
    long = spelled_out(short)
    assert not any(isinstance(s, StrictLatest | Shift) for s in long.signals)
    assert len(schedule(short).layers) <= len(schedule(long).layers)
    for n in range(1, 7):
        codes = all_codes(2, n)
        for word, want in zip(codes, expected(formula, codes, "ab"), strict=True):
            for program in (short, long):
                assert (outputs(program, word)["f"] == want).all()


@pytest.mark.parametrize(
    ("formula", "layers"),
    [("Y (a S b)", 1), ("Y H a", 1), ("Y Y Y a", 1), ("X X (a U b)", 2), ("Y !Y a", 1)],
)
def test_layers(formula: str, layers: int) -> None:
    assert len(schedule(strict(build({"f": parse(formula)}, "ab", False))).layers) == layers


def test_long_chains_take_several_shifts() -> None:
    program = strict(build({"f": parse("Y " * 40 + "a")}, "ab", False))
    distances = [s.distance for s in program.signals if isinstance(s, Shift)]
    assert distances == [FARTHEST, FARTHEST, 40 - 2 * FARTHEST]
