"""The step theorems of the proofs are about the formulas that Python builds.

Coq computes tokens, formulas, prompts and runs of given machines by the definitions that its
theorems are about. Python prints its own as terms of the same types. Coq's kernel compares them:
as trees, not by what they mean.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pytest

import softhat
from softhat.frontends.machines.counter import GO, CounterMachine
from softhat.frontends.machines.machine import EOS
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from tests.frontends.machines.collection import CASES
from tests.proofs.coq import PROOFS, needs_coq

IMPORTS = """From Coq Require Import List Bool.
From Softhat Require Import Histories {construction}.
Import ListNotations.
"""
MOST = 40
"""Tokens of a run that are compared."""


def listed(items: Iterable[str]) -> str:
    return f"[{'; '.join(items)}]"


def term(formula: Formula, tokens: Mapping[str, str]) -> str:
    """A formula as a term of `proofs/Histories.v`."""
    match formula:
        case nodes.Symbol(name):
            return f"(Token {tokens[name]})"
        case nodes.Constant(value):
            return f"(Constant {str(value).lower()})"
        case nodes.Not(f) | nodes.Yesterday(f) | nodes.Once(f):
            return f"({type(formula).__name__} {term(f, tokens)})"
        case nodes.Comparison(nodes.Count(f), "<=", nodes.Count(g)):
            return f"(AtMost {term(f, tokens)} {term(g, tokens)})"
        case nodes.Recall():
            digits = [f"({term(k, tokens)}, {term(q, tokens)})" for k, q in formula.digits]
            return f"(Recall {term(formula.value, tokens)} {listed(digits)})"
        case nodes.And(f, g) | nodes.Or(f, g) | nodes.Xor(f, g) | nodes.Since(f, g):
            return f"({type(formula).__name__} {term(f, tokens)} {term(g, tokens)})"
    raise TypeError(f"{formula!r}")


def accepted(text: str, folder: Path) -> bool:
    """Does Coq take the file?"""
    file = folder / "Steps.v"
    file.write_text(text)
    command = ["coqc", "-q", "-R", str(PROOFS), "Softhat", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or "Unable to unify" in done.stderr, done.stderr[-2000:]
    return done.returncode == 0


def equal(left: str, right: str) -> str:
    return f"Goal {left} = {right}.\nProof. vm_compute. reflexivity. Qed.\n"


# Counter machines


def counter_term(m: CounterMachine) -> str:
    label = {i.label: at for at, i in enumerate(m.instructions)}
    counter = {name: at for at, name in enumerate(m.counters)}
    lines = []
    for i in m.instructions:
        match i.operation:
            case "inc":
                lines.append(f"Inc {counter[i.counter]} {label[i.next]}")
            case "dec":
                there = label[i.next], label[i.otherwise]
                lines.append(f"Dec {counter[i.counter]} {there[0]} {there[1]}")
            case _:
                lines.append("Halt")
    return f"(Machine {len(m.counters)} {listed(lines)})"


def counter_tokens(m: CounterMachine) -> dict[str, str]:
    tokens = {f"+{name}": f"(Unit {at})" for at, name in enumerate(m.counters)} | {GO: "Go"}
    kinds = {"+": "Added", "-": "Took", "=": "WasZero"}
    for at, i in enumerate(m.instructions):
        for sign, kind in kinds.items():
            tokens[f"{i.label}{sign}{i.counter}"] = f"({kind} {at})"
    return tokens


def counter_claims(m: CounterMachine, given: Mapping[str, int]) -> str:
    """What Coq has to find the same, for this machine and this input."""
    tokens, machine = counter_tokens(m), counter_term(m)
    values = " ".join(f"| {at} => {given.get(name, 0)}" for at, name in enumerate(m.counters))
    start = f"(fun c => match c with {values} | _ => 0 end)"
    rules = {name: term(formula, tokens) for name, formula in m.formulas.items()}
    run = m.run(given, MOST)
    told = "@nil token" if not run.tokens else listed(tokens[t] for t in run.tokens)
    return "".join(
        [
            equal(f"well_formed {machine}", "true"),
            equal(f"tokens {machine}", listed(tokens[name] for name in m.tokens)),
            equal(
                f"map (formula {machine}) (tokens {machine})",
                listed(rules[name] for name in m.tokens),
            ),
            equal(f"ends {machine}", rules[EOS]),
            equal(f"prompt {machine} {start}", listed(tokens[t] for t in run.prompt)),
            equal(f"run (next {machine}) (after {machine}) {MOST} (0, {start})", told),
        ]
    )


def random_counter_machine(rng: np.random.Generator) -> CounterMachine:
    size, counters = int(rng.integers(1, 8)), int(rng.integers(1, 4))
    lines = []
    for at in range(size):
        c, there, otherwise = rng.integers(counters), rng.integers(size), rng.integers(size)
        line = [f"inc c{c} l{there}", f"dec c{c} l{there} l{otherwise}", "halt"]
        lines.append(f"l{at}: {rng.choice(line, p=[0.4, 0.5, 0.1])}")
    machine = softhat.machine("\n".join(lines))
    assert isinstance(machine, CounterMachine)
    return machine


def counters(seed: int, count: int) -> str:
    rng = np.random.default_rng(seed)
    claims = []
    for _ in range(count):
        m = random_counter_machine(rng)
        claims.append(counter_claims(m, {name: int(rng.integers(4)) for name in m.counters}))
    return "".join(claims)


def test_counter_machines(tmp_path: Path) -> None:
    needs_coq()
    imports = IMPORTS.format(construction="StepCounter")
    cases = []
    for case in CASES:
        m = softhat.machine(case.text)
        assert isinstance(m, CounterMachine)
        cases.append(counter_claims(m, case.input))
    assert accepted(imports + "".join(cases) + counters(0, 20), tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1, 6))
def test_many_counter_machines(seed: int, tmp_path: Path) -> None:
    needs_coq()
    assert accepted(IMPORTS.format(construction="StepCounter") + counters(seed, 100), tmp_path)


def test_another_formula_is_seen(tmp_path: Path) -> None:
    needs_coq()
    m = softhat.machine("l: dec a l h\nh: halt")
    assert isinstance(m, CounterMachine)
    claims = counter_claims(m, {"a": 1})
    changed = claims.replace("(AtMost (Token (Unit 0))", "(AtMost (Token Go)", 1)
    assert changed != claims
    assert not accepted(IMPORTS.format(construction="StepCounter") + changed, tmp_path)
