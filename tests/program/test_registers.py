"""Registers that are alive at the same time never share a coordinate."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

import softhat
from softhat.logic.random import random_formula
from softhat.program.build import build
from softhat.program.registers import Register, allocate
from softhat.program.schedule import Schedule, schedule
from tests.slices import every


def births(plan: Schedule) -> dict[Register, tuple[int, int]]:
    """(layer, 0 for attention or 1 for feed-forward) in which each register is written."""
    born = {}
    for number, layer in enumerate(plan.layers, start=1):
        for group in layer.heads:
            born.update({Register(at, True): (number, 0) for at in group.signals})
        born.update({Register(gate.signal, False): (number, 1) for gate in layer.gates})
    return born


def check_lifetimes(formulas: dict[str, softhat.Formula]) -> None:
    program = build(formulas, tuple("abc"), False)
    plan = schedule(program)
    allocation = allocate(program, plan)
    born = births(plan)
    owners = defaultdict(list)
    for register, at in allocation.coordinate.items():
        owners[at].append((born.get(register, (0, 0)), register))
    cleared = {
        register: number
        for number, registers in enumerate(allocation.clears, start=1)
        for register in registers
    }
    for sharing in owners.values():
        sharing.sort()
        for (_, old), (when, new) in pairwise(sharing):
            # A feed-forward clears the old value before the next attention, or as it writes.
            assert (cleared[old], 1) <= when, (old, new)
            assert born.get(old, (0, 0)) < when, (old, new)
            assert old.raw == new.raw  # a bit over a raw value would inherit its rounding


@pytest.mark.parametrize("seed", every(3, range(60)))
def test_lifetimes_do_not_overlap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    family = ("all", "past", "star-free")[seed % 3]
    check_lifetimes(
        {f"f{k}": random_formula(rng, 10 + seed, "abc", family) for k in range(1 + seed % 3)}
    )


def test_a_bit_that_nobody_reads() -> None:
    """It is stored all the same, in a layer with others, and once shared their coordinate."""
    text = (
        "H (Z (((O b -> Y O a) & H Y (Y c -> (Y O H b <-> Z H a S Y b)) & (a | b <-> H a S false) "
        "| (H a | O (c & Z a xor H a) -> c) -> O !H c) xor H (H H (Y (a & b) S c) xor (!H c -> "
        "(!(c -> c) -> (c <-> O b) & a) S O (Y c | Z c)))) T !((c -> b) xor (a | Z (H (c T a) <-> "
        "((c -> b) & a) T O (!b | a)))))"
    )
    check_lifetimes({"output": softhat.parse(text)})
    assert softhat.compile(text, alphabet="abc").certificate.void == ()
