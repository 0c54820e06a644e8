"""Machines with names: `softhat generate zoo:NAME`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any

from softhat.frontends.machines.cellular import CellularAutomaton
from softhat.frontends.machines.machine import Machine, Run
from softhat.frontends.machines.reading import machine
from softhat.models.zoo.entry import named

FAMILY = "machines"
COLLATZ = """
test: dec n one done      // n is 0: done
one: dec n more last      // n is 1: done
last: inc n done
more: inc n m2
m2: inc n split
split: dec n s1 even      // n = 2h or 2h + 1
s1: dec n s2 odd
s2: inc h split
even: dec h e1 count      // n becomes h
e1: inc n even
odd: inc n o1             // n becomes 6h + 4, which is 3(2h + 1) + 1
o1: inc n o2
o2: inc n o3
o3: inc n o4
o4: dec h o5 count
o5: inc n o6
o6: inc n o7
o7: inc n o8
o8: inc n o9
o9: inc n o10
o10: inc n o4
count: inc steps test
done: halt
"""
MULTIPLY = """
outer: dec a first done
first: dec b addc restore
addc: inc c addd
addd: inc d first
restore: dec d back outer
back: inc b restore
done: halt
"""
CLOSER = {
    "go": ["read", {"(": "round", "[": "square", ")": "end1", "]": "end2", "": "close"}],
    "round": ["push", ")", "go"],
    "square": ["push", "]", "go"],
    "end1": ["pop", {")": "go"}],
    "end2": ["pop", {"]": "go"}],
    "close": ["pop", {")": "put1", "]": "put2", "": "done"}],
    "put1": ["write", ")", "close"],
    "put2": ["write", "]", "close"],
    "done": ["halt"],
}
"""Closes the brackets that are open; one that does not fit halts it early."""


@dataclass(frozen=True)
class MachineEntry:
    """A machine, an input to show it with, and how many cells and tokens that needs."""

    name: str
    title: str
    description: str | dict[str, Any] = field(repr=False)
    input: Any
    known: str
    space: int = 64
    tokens: int = 512

    @property
    def machine(self) -> Machine:
        return machine(self.description, space=self.space)

    def shown_run(self) -> Run:
        """The run on its input, as far as its tokens go."""
        m = self.machine
        steps = self.tokens // m.width if isinstance(m, CellularAutomaton) else self.tokens
        return m.run(self.input, max_steps=steps)

    def to_json(self) -> dict[str, Any]:
        """What `softhat zoo --json` says of it."""
        return {
            "name": self.name,
            "title": self.title,
            "family": FAMILY,
            "kind": "machine",
            "description": self.description,
            "input": self.input,
            "space": self.space,
            "known": self.known,
            "steps": f"machine-checked: {self.machine.step_theorem}",
        }


def addition() -> dict[str, Any]:
    """Two binary numbers with a + between them; the sum is on the third tape.

    The second number goes to the second tape; then both are read from their ends, with a carry.
    """
    keep, right = ["", "", ""], ["R", "S", "S"]
    rows: list[list[Any]] = [["find", [d, "", ""], "find", keep, right] for d in "01"]
    rows.append(["find", ["+", "", ""], "copy", ["_", "", ""], right])
    for d in "01":
        rows.append(["copy", [d, "", ""], "copy", ["_", d, ""], ["R", "R", "S"]])
        rows.append(["back", [d, "", ""], "add0", keep, ["S", "S", "S"]])
    rows.append(["copy", ["_", "", ""], "back", keep, ["L", "L", "S"]])
    rows.append(["back", ["_", "", ""], "back", keep, ["L", "S", "S"]])
    for carry, (x, y) in product((0, 1), product("01_", repeat=2)):
        if (x, y) == ("_", "_"):
            put = ["", "", "1"] if carry else keep
            rows.append([f"add{carry}", [x, y, ""], "done", put, ["S", "S", "S"]])
            continue
        total = carry + (x == "1") + (y == "1")
        put = ["", "", str(total % 2)]
        rows.append([f"add{carry}", [x, y, ""], f"add{total // 2}", put, ["L", "L", "L"]])
    return {
        "kind": "turing", "tapes": 3, "symbols": ["_", "0", "1", "+"], "start": "find",
        "halt": ["done"], "transitions": rows,
    }  # fmt: skip


def palindromes() -> dict[str, Any]:
    """Take the first symbol, look for it at the end, go back; the last state says yes or no."""
    rows = [["start", "_", "yes", "_", "S"]]
    for x, other in ("ab", "ba"):
        rows += [
            ["start", x, f"has_{x}", "_", "R"],
            ["back", x, "back", x, "L"],
            [f"has_{x}", "_", f"is_{x}", "_", "L"],
            [f"is_{x}", x, "back", "_", "L"],
            [f"is_{x}", other, "no", other, "S"],
            [f"is_{x}", "_", "yes", "_", "S"],
        ]
        rows += [[f"has_{x}", y, f"has_{x}", y, "R"] for y in "ab"]
    rows.append(["back", "_", "start", "_", "R"])
    return {"kind": "turing", "blank": "_", "halt": ["yes", "no"], "transitions": rows}


def sorting(symbols: str = "123") -> dict[str, Any]:
    """Exchange the first two neighbours that stand wrong; begin again."""
    rows = [["scan", "_", "done", "_", "S"], ["rewind", "_", "scan", "_", "R"]]
    for x in symbols:
        rows += [
            ["scan", x, f"after{x}", x, "R"],
            ["rewind", x, "rewind", x, "L"],
            [f"after{x}", "_", "done", "_", "S"],
        ]
        for y in symbols:
            rows.append([f"put{x}", y, "rewind", x, "L"])
            if y < x:
                rows.append([f"after{x}", y, f"put{y}", x, "L"])
            else:
                rows.append([f"after{x}", y, f"after{y}", y, "R"])
    return {
        "kind": "turing", "blank": "_", "start": "scan", "halt": ["done"], "transitions": rows,
    }  # fmt: skip


def calculator(modulus: int = 10) -> dict[str, Any]:
    """Digits and + - * in postfix; the value, modulo a number, is the output."""
    digits = [str(d) for d in range(modulus)]
    does: dict[str, Callable[[int, int], int]] = {
        "plus": operator.add, "minus": operator.sub, "times": operator.mul,
    }  # fmt: skip
    signs = {"+": "plus", "-": "minus", "*": "times"}
    program: dict[str, Any] = {
        "next": ["read", {**{d: f"d{d}" for d in digits}, **signs, "": "end"}],
        **{f"d{d}": ["push", d, "next"] for d in digits},
        "end": ["pop", {d: f"out{d}" for d in digits}],
        **{f"out{d}": ["write", d, "done"] for d in digits},
        "done": ["halt"],
    }
    for name, apply in does.items():
        program[name] = ["pop", {b: f"{name}{b}" for b in digits}]
        for b in digits:
            results = {a: f"d{apply(int(a), int(b)) % modulus}" for a in digits}
            program[f"{name}{b}"] = ["pop", results]
    return {"kind": "stack", "program": program}


@cache
def machines() -> dict[str, MachineEntry]:
    """Every machine of the zoo."""
    entries = (
        MachineEntry(
            "bb4", "the busy beaver of four states", "1RB1LB_1LA0LC_1RZ1LD_1RD0RA", None,
            "Halts after 107 steps with 13 ones (Brady 1983).", 32, 120,
        ),
        MachineEntry(
            "bb5", "the busy beaver of five states", "1RB1LC_1RC1RB_1RD0LE_1LA1LD_1RZ0LA", None,
            "Halts after 47,176,870 steps (Marxen and Buntrock 1989; the bbchallenge collaboration "
            "proved in 2024 that none takes longer); these are the first of them.", 512, 2048,
        ),
        MachineEntry(
            "rule-110", "Wolfram's Rule 110 on a ring",
            {"kind": "cellular", "rule": 110, "width": 32}, None,
            "Computationally universal on an infinite row (Cook 2004).", tokens=2047,
        ),
        MachineEntry(
            "collatz", "halve or triple and add one, until 1", COLLATZ, {"n": 7},
            "Nobody knows whether it halts for every n.", tokens=2048,
        ),
        MachineEntry(
            "multiplication", "a times b, by counting", MULTIPLY, {"a": 6, "b": 7},
            "Two counters are enough for any machine (Minsky 1967).",
        ),
        MachineEntry(
            "binary-addition", "the sum of two binary numbers", addition(), "1011+110",
            "Three tapes, a carry in the state.", 32, 128,
        ),
        MachineEntry(
            "palindromes", "is the word the same backwards?", palindromes(), "abba",
            "One tape needs quadratic time (Hennie 1965).", 32, 128,
        ),
        MachineEntry(
            "sorting", "the symbols in order", sorting(), "3121",
            "Neighbours are exchanged until none stands wrong.", 32, 256,
        ),
        MachineEntry(
            "calculator", "postfix arithmetic modulo 10", calculator(), "34+2*",
            "A stack and 56 instructions.", 32, 128,
        ),
        MachineEntry(
            "brackets", "closes the brackets that are open",
            {"kind": "stack", "program": CLOSER}, "[()((",
            "Of any depth that the stack has cells for.", 32, 128,
        ),
        MachineEntry(
            "parity-automaton", "is the number of a even?",
            {"kind": "automaton", "regex": "b*(ab*ab*)*", "alphabet": "ab"}, "abaab",
            "Not star-free, so no formula without counting modulo 2 says it.", 32, 64,
        ),
        MachineEntry(
            "increment", "one more than a binary number, its lowest digit first",
            {
                "kind": "transducer",
                "transitions": [
                    ["carry", "0", "copy", "1"], ["carry", "1", "carry", "0"],
                    ["copy", "0", "copy", "0"], ["copy", "1", "copy", "1"],
                ],
                "final": {"carry": "1"},
            },
            "1101", "A sequential function.", 32, 64,
        ),
    )  # fmt: skip
    return {entry.name: entry for entry in entries}


def machine_of(name: str) -> MachineEntry:
    """The machine of this name, with or without `zoo:` before it."""
    return named(name, machines(), "machine ")
