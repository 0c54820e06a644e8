"""Errors on words: bounds hold against softmax in extended precision, and memory changes none."""

from __future__ import annotations

import random

import numpy as np

from softhat.ahat.bounds.functionals import plan
from softhat.ahat.bounds.words import HeadMemory, word_errors
from softhat.ahat.exact import run
from softhat.ahat.words import all_words
from tests.ahat import running
from tests.ahat.models import random_deep, random_model, random_program


def test_heads_that_are_remembered_err_as_before() -> None:
    """β are changed one after another, as a search does; most heads are then remembered."""
    rng = random.Random(8)
    for make in (random_model, random_program, random_deep) * 4:
        model = make(rng)
        directions = plan(model)
        codes = np.concatenate(list(all_words(len(model.alphabet), 3)))
        trace, memory = run(model, codes), HeadMemory()
        exact = [[np.longdouble(v.numerator) / v.denominator for v in r] for r in trace.values()]
        betas = {name: float(rng.choice([1, 4, 20])) for name in model.heads}
        for _ in range(6):
            betas[rng.choice(model.heads)] = float(rng.choice([1, 4, 20, 90]))
            alone = word_errors(directions, trace, betas)
            remembered = word_errors(directions, trace, betas, memory)
            assert (remembered.high == alone.high).all() and (remembered.low == alone.low).all()
            assert remembered.leaks == alone.leaks and remembered.head_errors == alone.head_errors
            off = running.values(model, betas, codes, "longdouble") - np.array(exact)
            room = 1e-14 * (1 + np.abs(off).max())
            assert (off <= alone.high + room).all() and (off >= alone.low - room).all()


def test_directions_that_a_head_does_not_move() -> None:
    """Left out, they change nothing: with them, and weights of 0, it is the same head."""
    rng = random.Random(9)
    narrower = 0
    for _ in range(20):
        model = random_deep(rng)
        for layer in plan(model).layers:
            for head in layer.heads:
                narrow, moved = head.narrowed
                still = np.setdiff1d(np.arange(len(head.output)), moved)
                assert not head.output[still].any()
                assert not head.value[:, np.concatenate([still, still + len(head.output)])].any()
                assert (narrow.output == head.output[moved]).all()
                narrower += len(still) > 0
    assert narrower > 5
