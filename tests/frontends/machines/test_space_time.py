"""Runs in space and time: rows by replaying tokens elsewhere, arrows by looking for the writer."""

from __future__ import annotations

import softhat
from softhat.frontends.machines.space_time import space_time
from softhat.models.zoo.machines import machines

BEAVER = "1RB1LB_1LA0LC_1RZ1LD_1RD0RA"


def test_a_tape() -> None:
    m = softhat.machine(BEAVER, space=32)
    told = space_time(m, m.run())
    (band,) = told.bands
    assert len(band.rows) == 108
    assert "".join(band.rows[-1]).strip("0") == "10111111111111"
    table = {"A": ("1RB", "1LB"), "B": ("1LA", "0LC"), "C": ("1RZ", "1LD"), "D": ("1RD", "0RA")}
    cells: dict[int, str] = {}
    writer: dict[int, int] = {}
    state, head = "A", 0
    for t in range(107):
        assert band.heads[t] == head - band.first
        assert band.wrote[t] == writer.get(head)
        row = [cells.get(c + band.first, "0") for c in range(len(band.cells))]
        assert list(band.rows[t]) == row
        write, move, state = list(table[state][int(cells.get(head, "0"))])
        cells[head], writer[head] = write, t + 1
        head += 1 if move == "R" else -1


def test_the_prompt_is_step_0() -> None:
    m = softhat.machine({"kind": "automaton", "regex": "a*", "alphabet": "ab"}, space=16)
    (band,) = space_time(m, m.run("ab")).bands
    assert band.rows[0][:2] == ("a", "b")
    assert band.wrote[:2] == (0, 0)


def test_counters() -> None:
    m = softhat.machine("l: dec b m h\nm: inc a l\nh: halt")
    (band,) = space_time(m, m.run({"a": 2, "b": 2})).bands
    assert (band.cells, band.rows) == (
        ("b", "a"),
        (("2", "2"), ("1", "2"), ("1", "3"), ("0", "3"), ("0", "4"), ("0", "4")),
    )
    assert band.heads == (0, 1, 0, 1, 0, None)
    assert band.wrote == (0, 0, 1, 2, 3, None)


def test_a_ring_and_a_stack() -> None:
    ring = softhat.machine({"kind": "cellular", "rule": 110, "width": 4})
    told = space_time(ring, ring.run("0001", max_steps=2))
    assert ["".join(row) for row in told.bands[0].rows] == ["0001", "0011", "0111"]
    entry = machines()["brackets"]
    told = space_time(entry.machine, entry.shown_run())
    assert [band.name for band in told.bands] == ["input", "stack"]
    deepest = max(sum(s != told.blank for s in row) for row in told.bands[1].rows)
    assert deepest == 3
