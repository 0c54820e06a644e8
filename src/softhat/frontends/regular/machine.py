"""What must be computed at a position: a machine that answers as it reads a letter.

The answer at a position depends on the state before it and the letter there, so states that
differ only in the past's answer are one state (Mealy, not Moore). Two answers are final: once
the word is *lost* (nothing accepts any more) or *won* (everything does), the state no longer
matters, and what the machine does next is free. So is a letter of another type, where letters
are typed by their position modulo m. What is free is used to need fewer states (`reduced`) and
shallower cascades (`completions`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from softhat.frontends.regular.dfa import DFA
from softhat.frontends.regular.monoid import counts

Answer = Literal["yes", "no", "lost", "won"]


@dataclass(frozen=True, slots=True)
class StateMachine:
    """State 0 is the first. `step[q][k]` is the state after letter k, None where it is free;
    `answer[q][k]` the answer there, None where the letter cannot come."""

    letters: tuple[tuple[int, int], ...]
    """(index of the symbol, position modulo `modulus`)."""
    modulus: int
    step: tuple[tuple[int | None, ...], ...]
    answer: tuple[tuple[Answer | None, ...], ...]


def to_machine(dfa: DFA, modulus: int, lost: bool, won: bool) -> StateMachine:
    """The machine of a minimal automaton. With `lost` the state from which no word is accepted is
    replaced by a final answer; with `won` the state from which every word is."""
    final: dict[int, Answer] = {}
    for state, row in enumerate(dfa.step):
        if all(to == state for to in row):
            if lost and state not in dfa.accepting:
                final[state] = "lost"
            if won and state in dfa.accepting:
                final[state] = "won"
    letters = tuple((a, r) for r in range(modulus) for a in range(len(dfa.alphabet)))
    place = {(dfa.start, 0): 0}
    queue = [(dfa.start, 0)]
    step: list[tuple[int | None, ...]] = []
    answer: list[tuple[Answer | None, ...]] = []
    for state, read in queue:
        edges: list[int | None] = []
        answers: list[Answer | None] = []
        for a, r in letters:
            to = dfa.step[state][a]
            if r != (read + 1) % modulus:
                edges.append(None)
                answers.append(None)
            elif to in final:
                edges.append(None)
                answers.append(final[to])
            else:
                if (to, r) not in place:
                    place[to, r] = len(place)
                    queue.append((to, r))
                edges.append(place[to, r])
                answers.append("yes" if to in dfa.accepting else "no")
        step.append(tuple(edges))
        answer.append(tuple(answers))
    return StateMachine(letters, modulus, tuple(step), tuple(answer))


def reduced(machine: StateMachine) -> StateMachine:
    """States that never have to differ, merged one pair after the other as long as no word
    permutes states."""
    merged = _merge(machine, careful=False)
    return merged if not counts(merged.step) else _merge(machine, careful=True)


def _merge(machine: StateMachine, careful: bool) -> StateMachine:
    size = len(machine.step)
    leader = list(range(size))
    for p in range(size):
        for q in range(p):
            if leader[p] != p:
                break
            if leader[q] != q:
                continue
            tried = _joined(machine, leader, p, q)
            if tried is not None and not (careful and counts(_quotient(machine, tried).step)):
                leader = tried
    return _quotient(machine, leader)


def _joined(machine: StateMachine, leader: list[int], p: int, q: int) -> list[int] | None:
    """The merging of p and q with all that follows from it, or None if answers differ."""
    leader = list(leader)
    members: dict[int, list[int]] = {}
    for state, head in enumerate(leader):
        members.setdefault(head, []).append(state)
    pending = [(p, q)]
    while pending:
        a, b = sorted(leader[x] for x in pending.pop())
        if a == b:
            continue
        for k in range(len(machine.letters)):
            answers = {machine.answer[x][k] for x in (*members[a], *members[b])} - {None}
            if len(answers) > 1:
                return None
            ends = {
                to for x in (*members[a], *members[b]) if (to := machine.step[x][k]) is not None
            }
            first, *others = ends or {0}
            pending += [(first, other) for other in others]
        members[a] += members.pop(b)
        for state in members[a]:
            leader[state] = a
    return leader


def _quotient(machine: StateMachine, leader: list[int]) -> StateMachine:
    heads = sorted(set(leader))
    place = {head: k for k, head in enumerate(heads)}
    step, answer = [], []
    for head in heads:
        inside = [state for state, other in enumerate(leader) if other == head]
        edges: list[int | None] = []
        answers: list[Answer | None] = []
        for k in range(len(machine.letters)):
            ends = [to for x in inside if (to := machine.step[x][k]) is not None]
            edges.append(place[leader[ends[0]]] if ends else None)
            replies = [reply for x in inside if (reply := machine.answer[x][k]) is not None]
            answers.append(replies[0] if replies else None)
        step.append(tuple(edges))
        answer.append(tuple(answers))
    return StateMachine(machine.letters, machine.modulus, tuple(step), tuple(answer))


Total = tuple[tuple[int, ...], ...]
"""For each letter, where each state goes."""


def completions(machine: StateMachine, tries: int) -> Iterator[Total]:
    """Ways to fill what the machine leaves free, none of which lets a word permute states.

    First by rules that often give shallow cascades (a letter that leads to one state always
    does; it moves states in order; it stays), then at random. If nothing else, a new state.
    """
    size, letters = len(machine.step), len(machine.letters)
    partial = [[machine.step[q][k] for q in range(size)] for k in range(letters)]
    holes = [(k, q) for k in range(letters) for q in range(size) if partial[k][q] is None]
    seen: set[Total] = set()

    def fresh(filled: list[list[int]]) -> Total | None:
        total = tuple(tuple(row) for row in filled)
        if total in seen:
            return None
        seen.add(total)
        return None if counts(tuple(zip(*total, strict=True))) else total

    for rule in (_constant_or_near, _constant_or_stay, _most_common, _stay, _near):
        if (total := fresh([rule(row) for row in partial])) is not None:
            yield total
    dice = random.Random(0)
    for _ in range(tries if holes else 0):
        filled = [
            [dice.choice([*range(size)]) if to is None else to for to in row] for row in partial
        ]
        if (total := fresh(filled)) is not None:
            yield total
    if holes:
        yield tuple((*(size if to is None else to for to in row), size) for row in partial)


def _targets(row: list[int | None]) -> list[int]:
    return [to for to in row if to is not None]


def _constant_or_near(row: list[int | None]) -> list[int]:
    targets = set(_targets(row))
    return list(targets) * len(row) if len(targets) == 1 else _near(row)


def _constant_or_stay(row: list[int | None]) -> list[int]:
    targets = set(_targets(row))
    return list(targets) * len(row) if len(targets) == 1 else _stay(row)


def _most_common(row: list[int | None]) -> list[int]:
    targets = _targets(row) or [0]
    common = max(sorted(set(targets)), key=targets.count)
    return [common if to is None else to for to in row]


def _stay(row: list[int | None]) -> list[int]:
    return [q if to is None else to for q, to in enumerate(row)]


def _near(row: list[int | None]) -> list[int]:
    """The image of the nearest state that has one: states in order stay in order."""
    known = [q for q, to in enumerate(row) if to is not None]
    if not known:
        return list(range(len(row)))
    filled = []
    for q, to in enumerate(row):
        nearest = row[min(known, key=lambda other: (abs(other - q), other))]
        assert nearest is not None
        filled.append(nearest if to is None else to)
    return filled
