"""The step theorems of the proofs are about the formulas that Python builds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softhat
from softhat.frontends.machines.automaton import Automaton
from softhat.frontends.machines.cellular import CellularAutomaton
from softhat.frontends.machines.counter import CounterMachine
from softhat.frontends.machines.stack import StackMachine
from softhat.frontends.machines.turing import OnTapes, TuringMachine
from tests.frontends.machines.collection import CASES
from tests.proofs import steps
from tests.proofs.coq import needs_coq
from tests.proofs.steps import IMPORTS, MOST, accepted, claims
from tests.slices import every

Case = tuple[str, str]
"""A construction, and what Coq has to find the same."""


def counter_case(m: Any, given: dict[str, int], at: int) -> Case:
    assert isinstance(m, CounterMachine)
    return "StepCounter", claims(steps.counter(m, given), m, m.run(given, MOST), at)


def ring_case(m: Any, row: str, at: int) -> Case:
    assert isinstance(m, CellularAutomaton)
    return "StepRing", claims(steps.ring(m, row), m, m.run(row, MOST // m.width + 1), at)


def tape_case(m: Any, word: str, at: int) -> Case:
    m = m.tape_machine if isinstance(m, OnTapes) else m
    assert isinstance(m, TuringMachine)
    spelled = steps.turing(m, word)
    return spelled.construction, claims(spelled, m, m.run(word, MOST), at)


def random_counter(rng: np.random.Generator, at: int) -> Case:
    size, counters = int(rng.integers(1, 8)), int(rng.integers(1, 4))
    lines = []
    for label in range(size):
        c, there, otherwise = rng.integers(counters), rng.integers(size), rng.integers(size)
        line = [f"inc c{c} l{there}", f"dec c{c} l{there} l{otherwise}", "halt"]
        lines.append(f"l{label}: {rng.choice(line, p=[0.4, 0.5, 0.1])}")
    m: Any = softhat.machine("\n".join(lines))
    return counter_case(m, {name: int(rng.integers(4)) for name in m.counters}, at)


def random_ring(rng: np.random.Generator, at: int) -> Case:
    values, width = "abc"[: int(rng.integers(1, 4))], int(rng.integers(2, 7))
    rule = [
        [a, b, c, str(rng.choice(list(values)))] for a in values for b in values for c in values
    ]
    m = softhat.machine({"kind": "cellular", "rule": rule, "width": width})
    return ring_case(m, "".join(rng.choice(list(values), width)), at)


def random_tapes(rng: np.random.Generator, at: int, tapes: int, one_sided: bool) -> Case:
    """A random table: states that halt, cases without an entry, and heads that stay."""
    symbols, states = "_ab"[: int(rng.integers(2, 4))], "qrst"[: int(rng.integers(1, 5))]
    rows: list[Any] = []
    for state in states:
        for read in np.ndindex(*[len(symbols)] * tapes):
            if rng.random() < 0.85:
                write = [str(rng.choice(list(symbols))) for _ in read]
                move = [str(rng.choice(list("LRS"), p=[0.4, 0.4, 0.2])) for _ in read]
                then = str(rng.choice([*states, "h"]))
                rows.append([state, [symbols[s] for s in read], then, write, move])
    if not rows:
        return random_tapes(rng, at, tapes, one_sided)
    m = softhat.machine(
        {
            "kind": "turing",
            "tapes": tapes,
            "one_sided": one_sided,
            "symbols": list(symbols),
            "states": [*states, "h"],
            "start": "q",
            "halt": "h",
            "transitions": rows,
            "space": 8,
        }
    )
    return tape_case(m, "".join(rng.choice(list(symbols), int(rng.integers(4)))), at)


def random_one_tape(rng: np.random.Generator, at: int) -> Case:
    return random_tapes(rng, at, 1, False)


def random_one_sided(rng: np.random.Generator, at: int) -> Case:
    return random_tapes(rng, at, 1, True)


def random_two_tapes(rng: np.random.Generator, at: int) -> Case:
    return random_tapes(rng, at, 2, bool(rng.integers(2)))


KINDS: dict[str, Callable[[np.random.Generator, int], Case]] = {
    "counter": random_counter,
    "ring": random_ring,
    "one tape": random_one_tape,
    "one-sided": random_one_sided,
    "two tapes": random_two_tapes,
}


def all_accepted(cases: list[Case], folder: Path) -> bool:
    (construction,) = {construction for construction, _ in cases}
    imports = IMPORTS.format(construction=construction)
    return accepted(imports + "".join(text for _, text in cases), folder)


def random_cases(kind: str, seed: int, count: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    return [KINDS[kind](rng, at) for at in range(count)]


@pytest.mark.parametrize("kind", every(2, KINDS))
def test_random_machines(kind: str, tmp_path: Path) -> None:
    needs_coq()
    assert all_accepted(random_cases(kind, 0, 2), tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(1, 4))
def test_many_random_machines(kind: str, seed: int, tmp_path: Path) -> None:
    needs_coq()
    assert all_accepted(random_cases(kind, seed, 25), tmp_path)


def test_counter_machines(tmp_path: Path) -> None:
    needs_coq()
    cases = [counter_case(softhat.machine(c.text), c.input, at) for at, c in enumerate(CASES)]
    assert all_accepted(cases, tmp_path)


def test_rings(tmp_path: Path) -> None:
    needs_coq()
    cases = [
        ring_case(softhat.machine({"kind": "cellular", "rule": rule, "width": width}), row, at)
        for at, (rule, width, row) in enumerate(
            [(110, 8, "00010011"), (30, 2, "01"), (90, 3, "110")]
        )
    ]
    assert all_accepted(cases, tmp_path)


def test_one_tape_one_token(tmp_path: Path) -> None:
    needs_coq()
    regular = {"kind": "automaton", "regex": "a(ab)*", "space": 8}
    swaps = [["q", "a", "r", "b"], ["r", "a", "q", "a"], ["q", "b", "q", "a"]]
    machines: list[tuple[Any, str]] = [
        (softhat.machine("1RB1LB_1LA0LC_1RZ1LD_1RD0RA", space=8), ""),
        (softhat.machine("1RB---1LC_2LB1RC0RZ_1LA2RA1RB", space=16), "21"),
        (softhat.machine(regular), "aab"),
        (softhat.machine({"kind": "transducer", "transitions": swaps, "space": 8}), "aba"),
    ]
    cases = [tape_case(m, word, at) for at, (m, word) in enumerate(machines)]
    assert {construction for construction, _ in cases} == {"StepTuring"}
    assert all_accepted(cases, tmp_path)


def test_several_tokens(tmp_path: Path) -> None:
    needs_coq()
    closer = {
        "read": ["read", {"(": "open", ")": "close", "": "left"}],
        "open": ["push", "x", "read"],
        "close": ["pop", {"x": "read"}],
        "left": ["pop", {"x": "more", "": "done"}],
        "more": ["write", ")", "left"],
        "done": ["halt"],
    }
    copies = [["q", ["a", ""], "q", ["", "a"], "RR"], ["q", ["_", ""], "h", ["", ""], "SL"]]
    doubles = {"tapes": 2, "symbols": "_a", "halt": "h", "transitions": copies, "space": 8}
    machines: list[tuple[Any, str]] = [
        (softhat.machine({"kind": "stack", "program": closer, "space": 8}), "(("),
        (softhat.machine({"kind": "turing", **doubles}), "aa"),
    ]
    cases = [tape_case(m, word, at) for at, (m, word) in enumerate(machines)]
    assert {construction for construction, _ in cases} == {"StepTapes"}
    assert all_accepted(cases, tmp_path)


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        ("counter", "AtMost", "Or"),
        ("ring", " := Since ", " := And "),
        ("one tape", " := Xor ", " := Or "),
        ("two tapes", " := Since ", " := And "),
    ],
)
def test_another_formula_is_seen(kind: str, right: str, wrong: str, tmp_path: Path) -> None:
    needs_coq()
    ((construction, text),) = random_cases(kind, 0, 1)
    assert right in text
    assert not all_accepted([(construction, text.replace(right, wrong, 1))], tmp_path)


def random_automaton(rng: np.random.Generator, at: int, tapes: bool) -> Case:
    """Some edges are missing; with `tapes` there are so many states that a step is two tokens."""
    states = [f"q{i}" for i in range(30 if tapes else int(rng.integers(1, 5)))]
    alphabet = "abc"[: 3 if tapes else int(rng.integers(1, 4))]
    puts_out = bool(rng.integers(2))
    rows: list[list[str]] = []
    for state in states:
        for symbol in alphabet:
            if rng.random() < 0.8 or not rows:
                out = [str(rng.choice(["", "a", "x"]))] if puts_out else []
                rows.append([state, symbol, str(rng.choice(states)), *out])
    given: dict[str, Any] = {"alphabet": alphabet, "states": states, "start": states[0]}
    given["transitions"] = rows
    if puts_out:
        given |= {"kind": "transducer", "final": {states[0]: "x"}}
    else:
        given |= {"kind": "automaton", "accept": [q for q in states if rng.random() < 0.5]}
    m = softhat.machine(given, space=1024 if tapes else 16)
    assert isinstance(m, Automaton) and m.tape_machine.merged != tapes
    word = "".join(rng.choice(list(alphabet), int(rng.integers(7))))
    construction = "StepTapes" if tapes else "StepTuring"
    return construction, steps.automaton_claims(m, word, at)


@pytest.mark.parametrize("tapes", [False, True])
def test_tables_of_automata(tapes: bool, tmp_path: Path) -> None:
    needs_coq()
    rng = np.random.default_rng(4)
    assert all_accepted([random_automaton(rng, at, tapes) for at in range(12)], tmp_path)


def random_stack(rng: np.random.Generator, at: int) -> Case:
    """A random program that halts, or fills its stack, within so many instructions."""
    labels = [f"l{i}" for i in range(int(rng.integers(2, 7)))]

    def target() -> str:
        return str(rng.choice(labels))

    while True:
        program: dict[str, Any] = {}
        for label in labels:
            cases = {s: target() for s in ("a", "b", "") if rng.random() < 0.8} or {"": target()}
            kinds: list[Any] = [
                ["read", cases],
                ["pop", cases],
                ["push", str(rng.choice(["a", "b"])), target()],
                ["write", str(rng.choice(["a", "x"])), target()],
                ["halt"],
            ]
            program[label] = kinds[int(rng.choice(5, p=[0.25, 0.25, 0.25, 0.2, 0.05]))]
        if program["l0"][0] == "halt" or all(p[0] not in ("read",) for p in program.values()):
            continue
        m = softhat.machine({"kind": "stack", "program": program, "space": 8})
        assert isinstance(m, StackMachine)
        word = "".join(rng.choice(list(m.alphabet), int(rng.integers(4)))) if m.alphabet else ""
        if (run := m.run(word, MOST)).full or run.steps < MOST:
            return "StepTapes", steps.stack_claims(m, word, MOST, at)


def test_tables_of_stack_programs(tmp_path: Path) -> None:
    needs_coq()
    rng = np.random.default_rng(5)
    assert all_accepted([random_stack(rng, at) for at in range(20)], tmp_path)


@pytest.mark.parametrize(("right", "wrong"), [("Some 1", "Some 2"), ("Right", "Left")])
def test_another_table_is_seen(right: str, wrong: str, tmp_path: Path) -> None:
    needs_coq()
    construction, text = random_stack(np.random.default_rng(5), 0)
    goal = text.index("Stacks.machine_of")
    changed = text[:goal] + text[goal:].replace(right, wrong, 1)
    assert changed != text
    assert not all_accepted([(construction, changed)], tmp_path)
