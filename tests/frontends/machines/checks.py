"""What holds of every machine, whatever its kind."""

from __future__ import annotations

from typing import Any

import softhat
from softhat.frontends.machines.machine import EOS, Machine
from softhat.logic.semantics.empty import at_empty_prefixes
from softhat.proof.boolean import Space
from softhat.proof.claims import claimed
from softhat.proof.stock.bounded import BoundedAtoms
from softhat.proof.stock.determined import exactly_one


def check_run(m: Machine, given: Any, steps: int) -> Any:
    """Tokens say what the run did, and the formula of the next token alone holds. The run."""
    run = m.run(given, max_steps=steps)
    assert m.decode(run.word) == run
    told = list(run.word)
    symbols = [token for token in told if token != EOS]
    truth = {name: formula.truth(symbols) for name, formula in m.formulas.items()}
    for at in range(len(run.prompt) - 1, len(told) - 1):
        assert [name for name in truth if truth[name][at]] == [told[at + 1]]
    return run


def check_decided(m: Machine) -> None:
    """After every history exactly one token comes next; the description is the machine."""
    atoms = BoundedAtoms(Space(m.tokens, False), 63, has_recalls=True)
    first = at_empty_prefixes(list(m.formulas.values()))
    at_start = [name for name, yes in zip(m.formulas, first, strict=True) if yes]
    exactly_one(atoms.space, claimed(atoms, m.formulas), at_start)
    assert softhat.machine(m.to_json()) == m
