"""Wide gates as trees: the same bits, no gate wider than asked."""

from __future__ import annotations

import numpy as np
import pytest

from softhat.logic.syntax.parse import parse
from softhat.program.build import build
from softhat.program.evaluate import outputs
from softhat.program.gates import And
from softhat.program.narrow import narrowed
from softhat.program.schedule import schedule


@pytest.mark.parametrize("widest", [2, 3, 8])
@pytest.mark.parametrize("count", [1, 8, 9, 30])
def test_trees_compute_the_same(count: int, widest: int) -> None:
    symbols = [f"s{k}" for k in range(count)]
    formula = parse(" & ".join(f"O {s}" for s in symbols) + " | Y(O s0 & !O s0)")
    program = build({"output": formula}, symbols, False)
    narrow = narrowed(program, widest)
    gates = [signal for signal in narrow.signals if isinstance(signal, And)]
    assert all(len(gate.literals) <= widest for gate in gates)
    plan = schedule(narrow, store_outputs=True, widest=widest)
    terms = [t for layer in plan.layers for gate in layer.gates for t in gate.terms]
    assert all(len(term) <= widest for term in terms)
    rng = np.random.default_rng(count)
    for _ in range(5):
        word = rng.permutation(np.resize(np.arange(count), count + 3))
        assert (outputs(narrow, word)["output"] == outputs(program, word)["output"]).all()
