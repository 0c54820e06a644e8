"""What ends and places decide of a comparison is what it means, on all words to length 7."""

from __future__ import annotations

import numpy as np
import pytest

from softhat.logic.core import to_core
from softhat.logic.decide.counting import _CountedSums
from softhat.logic.decide.letters import letters_for
from softhat.logic.decide.places import decided
from softhat.logic.decide.questions import _Possible
from softhat.logic.linear import linear, to_comparison
from softhat.logic.random import random_formula
from softhat.logic.semantics.batch import all_words, evaluate
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula, Term
from softhat.logic.syntax.walk import distinct


def comparison(rng: np.random.Generator) -> Formula:
    """A random sum of counts of formulas without comparisons."""
    term: Term = nodes.Integer(int(rng.integers(-4, 5)))
    for _ in range(int(rng.integers(1, 4))):
        size = int(rng.integers(1, 6))
        counted = to_core(random_formula(rng, size, "ab", "star-free"))
        kind = (nodes.Count, nodes.CountFuture, nodes.CountAll)[int(rng.integers(3))]
        term = term + int(rng.choice([-3, -2, -1, 1, 2])) * kind(counted)
    return term >= 0


def check(seed: int) -> bool:
    rng = np.random.default_rng([31, seed])
    form = linear(comparison(rng))  # it is a Comparison
    whole = to_comparison(form)
    letters = letters_for([whole], "ab", None)
    sums = _CountedSums(letters)
    total = sums.of(form)
    cases = sums.cases(total)
    if cases is None:
        return False
    spelt = decided(cases, total.constant, whole, _Possible(letters, 3_000, 100_000))
    for length in range(1, 8):
        batch = all_words("ab", length)
        differ = evaluate(whole, batch) ^ evaluate(spelt, batch)
        used = np.uint64((1 << min(batch.count, 64)) - 1)
        assert not (differ & used).any(), (str(whole), str(spelt), length)
    return whole not in [node for node, _ in distinct(spelt)[0]]


def test_random_comparisons() -> None:
    settled = [check(seed) for seed in range(80)]
    assert sum(settled) >= 5  # the test is not about unknowns only


@pytest.mark.full
def test_random_comparisons_full() -> None:
    for seed in range(80, 4_000):
        check(seed)
