"""Machines as terms of the proofs, and what Coq has to find the same.

Coq computes tokens, formulas, prompts and runs of a machine by the definitions that its theorems
are about. Python prints its own as terms of the same types. Coq compares them: as trees, not by
what they mean.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from softhat.frontends.machines import one_token, several_tokens
from softhat.frontends.machines.automaton import Automaton
from softhat.frontends.machines.cellular import CellularAutomaton
from softhat.frontends.machines.counter import CounterMachine
from softhat.frontends.machines.machine import EOS, GO, Machine, Run
from softhat.frontends.machines.stack import DOWN, NONE, StackMachine
from softhat.frontends.machines.turing import ANY, FULL, Action, TuringMachine
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from tests.proofs.coq import PROOFS

MOST = 40
"""Tokens of a run that are compared."""
IMPORTS = """From Coq Require Import ZArith List Bool.
From Softhat Require Import Histories Tape {construction}.
From Softhat Require Gray Automata Stacks.
Import ListNotations.
Open Scope nat_scope.
"""
_MOVES = {"L": "Left", "S": "Stay", "R": "Right"}


@dataclass(frozen=True)
class Spelled:
    """A machine with an input, as terms of its construction's file."""

    construction: str
    machine: str
    tokens: Mapping[str, str]
    prompt: str
    start: str
    checks: tuple[str, ...]
    """What the theorem asks of the machine and the input."""


def listed(items: Iterable[str]) -> str:
    return f"[{'; '.join(items)}]"


class SharedTerms:
    """Formulas as terms of `proofs/Histories.v`; equal objects are one definition."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        self._tokens = tokens
        self._known: dict[int, tuple[str, Formula]] = {}
        self.definitions: list[str] = []

    def term(self, formula: Formula) -> str:
        if id(formula) not in self._known:
            text = self._spelled(formula)
            name = f"f{len(self.definitions)}"
            self.definitions.append(f"Definition {name} : form token := {text}.\n")
            self._known[id(formula)] = name, formula
        return self._known[id(formula)][0]

    def _spelled(self, formula: Formula) -> str:
        match formula:
            case nodes.Symbol(name):
                return f"Token {self._tokens[name]}"
            case nodes.Constant(value):
                return f"Constant {str(value).lower()}"
            case nodes.Not(f) | nodes.Yesterday(f) | nodes.Once(f):
                return f"{type(formula).__name__} {self.term(f)}"
            case nodes.Comparison(nodes.Count(f), "<=", nodes.Count(g)):
                return f"AtMost {self.term(f)} {self.term(g)}"
            case nodes.Recall():
                digits = [f"({self.term(k)}, {self.term(q)})" for k, q in formula.digits]
                return f"Recall {self.term(formula.value)} {listed(digits)}"
            case nodes.And(f, g) | nodes.Or(f, g) | nodes.Xor(f, g) | nodes.Since(f, g):
                return f"{type(formula).__name__} {self.term(f)} {self.term(g)}"
        raise TypeError(f"{formula!r}")


def equal(left: str, right: str) -> str:
    return f"Goal {left} = {right}.\nProof. vm_compute. reflexivity. Qed.\n"


def same_forms(left: str, right: Sequence[str]) -> str:
    """Lists of equal trees. Coq computes whether they are, by a function that it has proved right:
    to show the trees takes longer."""
    goal = f"Goal {left} = {listed(right)}.\n"
    return goal + "Proof. apply (same_forms_equal same same_spec). vm_compute. reflexivity. Qed.\n"


def claims(spelled: Spelled, machine: Machine, run: Run, at: int = 0) -> str:
    """What Coq has to find the same, for this machine and this run of at most `MOST` tokens."""
    terms = SharedTerms(spelled.tokens)
    rules = {name: terms.term(formula) for name, formula in machine.formulas.items()}

    def said(names: Sequence[str]) -> str:
        return listed(spelled.tokens[name] for name in names) if names else "@nil token"

    return "".join(
        [
            f"Module M{at}.\nDefinition m := {spelled.machine}.\n",
            *terms.definitions,
            *(equal(check, "true") for check in ("well_formed m", *spelled.checks)),
            equal("tokens m", said(machine.tokens)),
            same_forms("map (formula m) (tokens m)", [rules[name] for name in machine.tokens]),
            same_forms("[ends m]", [rules[EOS]]),
            equal(spelled.prompt, said(run.prompt)),
            equal(f"run (next m) (after m) {MOST} {spelled.start}", said(run.tokens[:MOST])),
            f"End M{at}.\n",
        ]
    )


def accepted(text: str, folder: Path) -> bool:
    """Does Coq take the file?"""
    file = folder / "Steps.v"
    file.write_text(text)
    command = ["coqc", "-q", "-R", str(PROOFS), "Softhat", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or "Unable to unify" in done.stderr, done.stderr[-2000:]
    return done.returncode == 0


def counter(m: CounterMachine, given: Mapping[str, int]) -> Spelled:
    label = {i.label: at for at, i in enumerate(m.instructions)}
    place = {name: at for at, name in enumerate(m.counters)}
    lines = []
    for i in m.instructions:
        match i.operation:
            case "inc":
                lines.append(f"Inc {place[i.counter]} {label[i.next]}")
            case "dec":
                there = label[i.next], label[i.otherwise]
                lines.append(f"Dec {place[i.counter]} {there[0]} {there[1]}")
            case _:
                lines.append("Halt")
    tokens = {f"+{name}": f"(Unit {at})" for name, at in place.items()} | {GO: "Go"}
    kinds = {"+": "Added", "-": "Took", "=": "WasZero"}
    for at, i in enumerate(m.instructions):
        for sign, kind in kinds.items():
            tokens[f"{i.label}{sign}{i.counter}"] = f"({kind} {at})"
    values = " ".join(f"| {at} => {given.get(name, 0)}" for name, at in place.items())
    start = f"(fun c => match c with {values} | _ => 0 end)"
    machine = f"Machine {len(m.counters)} {listed(lines)}"
    return Spelled("StepCounter", machine, tokens, f"prompt m {start}", f"(0, {start})", ())


def ring(m: CellularAutomaton, row: Sequence[str]) -> Spelled:
    value = {name: at for at, name in enumerate(m.states)}
    rule = [f"Entry {value[a]} {value[b]} {value[c]} {value[now]}" for (a, b, c), now in m.rule]
    tokens = {name: f"(Cell {at})" for name, at in value.items()}
    for now, at in value.items():
        tokens[f"|{now}"] = f"(First {at})"
        for was, before in value.items():
            tokens[f"{was}|{now}"] = f"(Later {before} {at})"
    machine = f"Machine {len(value)} {listed(rule)} {m.width}"
    cells = listed(str(value[cell]) for cell in row)
    checks = (f"row_fits m {cells}",)
    return Spelled("StepRing", machine, tokens, f"prompt {cells}", f"({cells}, [])", checks)


def turing(m: TuringMachine, word: Sequence[str]) -> Spelled:
    """A Turing machine, by the construction that it is built by."""
    state = {name: at for at, name in enumerate(m.states)}
    symbol = {name: at for at, name in enumerate(m.symbols)}
    halting = listed(str(state[name]) for name in m.halting)
    first = f"Machine {len(state)} {len(symbol)} {state[m.start]} {halting}"
    tokens = {GO: "Go", FULL: "Full"}
    written = listed(str(symbol[s]) for s in word)
    ask = f"prompt m {written}", f"(begun m {written})", (f"input_fits m {written}",)
    truth = ("false", "true")

    def one(a: Action) -> str:
        return f"(Action {state[a.next]} {symbol[a.write[0]]} {_MOVES[a.move[0]]})"

    def looked(names: Sequence[str]) -> str:
        return listed("None" if s == ANY else f"Some {symbol[s]}" for s in names)

    def several(a: Action) -> str:
        moves = listed(_MOVES[move] for move in a.move)
        return f"(Action {state[a.next]} {looked(a.write)} {moves})"

    if m.merged:
        rows = [f"Entry {state[q]} {symbol[read[0]]} {one(a)}" for q, read, a in m.table]
        for s, at in symbol.items():
            for b in range(m.bits):
                for v in (0, 1):
                    tokens[f"={s}R{b}{'-+'[v]}"] = f"(Input {at} {b} {truth[v]})"
        for a in m.actions:
            if a.move == ("S",):
                tokens[a.name] = f"(Stays {one(a)})"
            for b in range(m.bits):
                for v in (0, 1):
                    tokens[f"{a.name}{b}{'-+'[v]}"] = f"(Step {one(a)} {b} {truth[v]})"
        assert set(one_token.tokens(m)) <= set(tokens)
        return Spelled("StepTuring", f"{first} {listed(rows)} {m.bits}", tokens, *ask)
    rows = [f"Entry {state[q]} {looked(read)} {several(a)}" for q, read, a in m.table]
    tokens |= {f"={s}R": f"(Input {at})" for s, at in symbol.items()}
    tokens |= {a.name: f"(Act {several(a)})" for a in m.actions}
    for t in range(m.tapes):
        for b in range(m.bits):
            for v in (0, 1):
                for odd in (0, 1):
                    name = f"@{t + 1}.{b}{'-+'[v]}{'eo'[odd]}"
                    tokens[name] = f"(Flip {t} {b} {truth[v]} {truth[odd]})"
    assert set(several_tokens.tokens(m)) <= set(tokens)
    sided = truth[m.one_sided]
    machine = f"{first} {listed(rows)} {m.tapes} {m.bits} {sided}"
    return Spelled("StepTapes", machine, tokens, *ask)


def numbers(m: TuringMachine) -> tuple[dict[str, int], dict[str, int]]:
    """The places of states and of symbols."""
    return ({q: at for at, q in enumerate(m.states)}, {s: at for at, s in enumerate(m.symbols)})


def automaton_claims(m: Automaton, word: Sequence[str], at: int) -> str:
    """The table is that of `proofs/Automata.v`, and the run is its walk."""
    tapes = m.tape_machine
    state, symbol = numbers(tapes)
    spelled = turing(tapes, word)
    accept, reject = m.ends
    seen = sorted(m.accepting, key=m.states.index)
    edges = [
        f"Automata.Edge {state[q]} {symbol[s]} {state[then]} {symbol[out or m.blank]}"
        for q, s, then, out in m.edges
    ]
    final = [f"({state[q]}, {symbol[out or m.blank]})" for q, out in m.final]
    parts = [
        listed(str(symbol[s]) for s in m.alphabet),
        listed(str(state[q]) for q in m.states),
        str(state[m.start]),
        listed(str(state[q]) for q in seen),
        listed(edges),
        listed(final),
        *(str(state[end]) for end in (accept, reject)),
        str(m.is_transducer).lower(),
    ]
    acts = tapes.acts_of(m.run(word).tokens)
    steps = listed(f"({state[a.next]}, {symbol[a.write[0]]})" for a in acts)
    given = listed(str(symbol[s]) for s in word)
    kind = "OneToken" if tapes.merged else "SeveralTokens"
    sizes = f"{len(state)} {len(symbol)} {tapes.bits}"
    goals = [
        equal("Automata.well_formed a", "true"),
        equal(f"Automata.word_fits a {given}", "true"),
        equal(f"Automata.{kind}.machine_of a {sizes}", spelled.machine),
        equal(f"Automata.walk a {state[m.start]} {given}", steps),
    ]
    if not m.is_transducer:
        said = str(bool(m.run(word).accepted)).lower()
        goals.append(equal(f"Automata.accepted a {state[m.start]} {given}", said))
    defined = f"Definition a := Automata.Automaton {' '.join(parts)}.\n"
    return f"Module M{at}.\n{defined}{''.join(goals)}End M{at}.\n"


def stack_claims(m: StackMachine, word: Sequence[str], most: int, at: int) -> str:
    """The table is that of `proofs/Stacks.v`, and so is what the program puts out."""
    tapes = m.tape_machine
    state, symbol = numbers(tapes)
    lines = []
    for label, i in m.instructions:
        cases = listed(
            f"({'None' if s == NONE else f'Some {symbol[s]}'}, {state[then]})"
            for s, then in i.cases
        )
        match i.operation:
            case "read":
                text = f"Stacks.Read {cases}"
            case "pop":
                text = f"Stacks.Pop {state[label + DOWN]} {cases}"
            case "push" | "write":
                text = f"Stacks.{i.operation.title()} {symbol[i.symbol]} {state[i.next]}"
            case _:
                text = "Stacks.Halt"
        lines.append(f"({state[label]}, {text})")
    run = m.run(word, most)
    given = listed(str(symbol[s]) for s in word)
    start = f"({state[m.instructions[0][0]]}, {given}, [])"
    put_out = listed(str(symbol[s]) for s in run.output)
    ended = str(run.steps < most).lower()
    goals = [
        equal("Stacks.program_fits p", "true"),
        equal(f"Stacks.word_fits {given}", "true"),
        equal("Stacks.first_of p", str(state[m.instructions[0][0]])),
        equal(
            f"Stacks.machine_of p {len(state)} {len(symbol)} {tapes.bits}",
            turing(tapes, word).machine,
        ),
        equal(
            f"Stacks.exec p (Gray.half {tapes.bits}) {most} {start}",
            "None" if run.full else f"Some ({put_out}, {ended})",
        ),
    ]
    defined = f"Definition p : Stacks.program := {listed(lines)}.\n"
    return f"Module M{at}.\n{defined}{''.join(goals)}End M{at}.\n"
