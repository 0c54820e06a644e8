"""One maximum in every row: never claimed of a head that ties, by definition."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from fractions import Fraction

import pytest

import softhat
from softhat.ahat import Builder
from softhat.ahat.analysis.gap_laws import gap_laws
from softhat.ahat.model import AHAT, MASKS
from tests.ahat.definition import evaluate


def in_steps(rng: random.Random) -> AHAT:
    """Scores that rise by steps with the position, from levels that symbols and residues set."""
    b = Builder("ab", bos=rng.random() < 0.7)
    place = b.position(rng.choice(["i", "r"]))
    mask = rng.choice(MASKS[1:])
    one = b.position("1")
    small = [Fraction(k, d) for k in range(-4, 5) for d in (1, 2) if k]
    score = [(rng.choice(small), place)]
    marks = [b.token("a"), b.position("(-1)^i"), b.mod(3, 1), one]
    for _ in range(rng.randint(0, 2)):
        asks = rng.choice([one, place, b.token("b"), b.position("(-1)^i")])
        score.append((rng.choice(small) * asks, rng.choice(marks)))
    found = b.head(mask, value={"x": b.token("a")}, score=score)["x"]
    b.output(found - Fraction(1, 2))
    model = b.build()
    if rng.random() < 0.4:
        end = tuple(Fraction(rng.randint(-1, 1)) for _ in range(model.d_model))
        model = replace(model, eos_embedding=end)
    return model


def ties(model: AHAT, longest: int) -> bool:
    """Has some row of the head two maximal keys?"""
    for n in range(1, longest + 1):
        for word in itertools.product(model.alphabet, repeat=n):
            for scores in evaluate(model, word).rows[0, 0]:
                ordered = sorted(scores.values())
                if len(ordered) > 1 and ordered[-1] == ordered[-2]:
                    return True
    return False


def check(seed: int, models: int, longest: int) -> tuple[int, int]:
    """(heads proved to have one maximum, heads that have one to this length)"""
    rng = random.Random(seed)
    proved = single = 0
    for _ in range(models):
        model = in_steps(rng)
        tied = ties(model, longest)
        claimed = gap_laws(model).tieless[0, 0]
        assert not (claimed and tied), model
        proved, single = proved + claimed, single + (not tied)
    return proved, single


def test_never_claimed_of_a_head_that_ties() -> None:
    proved, single = check(1, 30, 4)
    assert proved >= 0.5 * single


@pytest.mark.full
@pytest.mark.parametrize("seed", range(10, 15))
def test_never_claimed_of_a_head_that_ties_at_full_size(seed: int) -> None:
    proved, single = check(seed, 200, 6)
    assert proved >= 0.5 * single


@pytest.mark.parametrize("formula", ["O a", "a S b", "Y a", "X a", "a U b", "O (a & Y b)"])
def test_heads_of_formulas_have_one_maximum_at_every_length(formula: str) -> None:
    """The mask (a S b), residues (Y a) and both sinks (X a) rule ties out: the gap stays 4."""
    model = softhat.to_ahat(softhat.compile(formula, alphabet="ab", attention="hard"))
    laws = gap_laws(model)
    assert all(laws.tieless.values())
    assert {law.text for law in laws.gap.values() if law is not None} == {"4"}
