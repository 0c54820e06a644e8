"""Cellular automata: rows by Wolfram's definition in NumPy, errors."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import softhat
from softhat.frontends.machines.cellular import CellularAutomaton
from softhat.io.errors import SofthatError
from tests.frontends.machines.checks import check_decided, check_run


def ring(given: dict[str, Any]) -> CellularAutomaton:
    return cast(CellularAutomaton, softhat.machine({"kind": "cellular", **given}))


@pytest.mark.parametrize("rule", [30, 90, 110, 184])
@pytest.mark.parametrize("width", [2, 3, 8, 13])
def test_elementary_rules(rule: int, width: int) -> None:
    m = ring({"rule": rule, "width": width})
    cells = np.random.default_rng(rule + width).integers(0, 2, width)
    run = check_run(m, "".join(map(str, cells)), 4)
    for row in run.rows:
        assert row == "".join(map(str, cells))
        cells = rule >> (4 * np.roll(cells, 1) + 2 * cells + np.roll(cells, -1)) & 1
    assert not run.halted
    check_decided(m)


def test_three_values() -> None:
    """Each cell becomes the sum of its neighbours modulo 3."""
    rule = {f"{a}{b}{c}": str((a + c) % 3) for a in range(3) for b in range(3) for c in range(3)}
    m = ring({"rule": rule, "width": 5})
    run = check_run(m, "01200", 3)
    assert run.rows[1] == "12120"
    check_decided(m)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rule": 110}, "from 2 to"),
        ({"rule": 110, "width": 1}, "from 2 to"),
        ({"rule": 256, "width": 8}, "0 to 255"),
        ({"width": 8}, "needs a rule"),
        ({"rule": [["0", "0", "0"]], "width": 8}, "write \\[left"),
        ({"rule": {"000": "0", "001": "1"}, "width": 8}, "says nothing of"),
        ({"rule": [["0", "0", "0", "0"], ["0", "0", "0", "1"]], "width": 8}, "two values"),
        ({"rule": {"|||": "|"}, "width": 8}, "cannot be a value"),
    ],
)
def test_bad_rules(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SofthatError, match=said):
        ring(given)


def test_bad_rows() -> None:
    m = ring({"rule": 110, "width": 4})
    with pytest.raises(SofthatError, match="4 cells, not 3"):
        m.run("010")
    with pytest.raises(SofthatError, match="none of 0 1"):
        m.run("0120")
    with pytest.raises(SofthatError, match="rows have 4 cells"):
        m.decode("0 1 1 0")
    with pytest.raises(SofthatError, match="no row"):
        m.decode("|0 1")
