"""Breadth-first search through a machine's states, whole sets of them at a time.

A state is what is known between two positions: the memories and the promises. Layer i of the
search is the set of states that some word of i symbols leads to and no shorter one does (at a
position that looks the same), as a decision diagram. A word may end where its last position,
which promises nothing, keeps all promises; the first layer from which that is possible with the
root true gives the length of the shortest words, and the layers give the first of them in the
order of the letters. When a layer is empty, all states are known and there is no such word.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import Literal

import numpy as np

from softhat.logic.decide.counting import Clause
from softhat.logic.decide.diagrams import FALSE, TRUE, Diagrams, TooHardError
from softhat.logic.decide.letters import Letters
from softhat.logic.decide.machine import GateMachine, Unknown, build
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from softhat.numbers.predicates import column

_POSITION = 100  # what a position costs apart from its diagrams, in their steps
_CROWDED = 200_000  # nodes after which those that are not needed any more are dropped
_CLUSTER = 60  # nodes of parts of a step that are taken together; 20 and 200 are slower
_LEVELS = 600  # variables; the operations on diagrams recurse once for each


@dataclass(frozen=True, slots=True)
class Goal:
    """A word on which `root`, in core form, is true at the first or at the last position.

    With `backwards` the machine reads words from their end, so the word found is the reverse.
    """

    root: Formula
    at: Literal["first", "last"]
    backwards: bool = False
    facts: tuple[Clause, ...] = ()


def shortest(goal: Goal, letters: Letters, budget: int, up_to: int | None) -> list[int] | None:
    """The first of the shortest words that reach the goal, as numbers of letters.

    None if there is none (of at most `up_to` symbols). `TooHardError` when the budget is spent.
    """
    machine = build(goal.root)
    bits = len(machine.memories) + len(machine.promises)
    if 2 * bits + letters.bits > _LEVELS:
        raise TooHardError
    steps = _Steps(machine, goal, letters, budget)
    layers = [steps.start]
    seen: dict[int, int] = {}
    crowded = _CROWDED
    for i in count(1) if up_to is None else range(1, up_to + 1):
        steps.diagrams.spend(_POSITION)
        if steps.after(layers[-1], i, last=True) != FALSE:
            return _backwards(steps, layers) if goal.backwards else _forwards(steps, layers)
        place = machine.place(i)
        known = seen.get(place, FALSE)
        fresh = steps.diagrams.difference(steps.after(layers[-1], i), known)
        if fresh == FALSE:
            break
        seen[place] = steps.diagrams.disjunction(known, fresh)
        layers.append(fresh)
        if len(steps.diagrams) > crowded:
            moved = steps.collect([*layers, *seen.values()])
            layers = [moved[layer] for layer in layers]
            seen = {at: moved[states] for at, states in seen.items()}
            crowded = max(_CROWDED, 2 * len(steps.diagrams))
    return None


def _backwards(steps: _Steps, layers: list[int]) -> list[int]:
    """The word from its last-read letter on, the smallest possible one each time."""
    numbers, states = [], TRUE
    for i in range(len(layers), 0, -1):
        number, states = steps.least_before(layers[i - 1], states, i, last=i == len(layers))
        numbers.append(number)
    return numbers


def _forwards(steps: _Steps, layers: list[int]) -> list[int]:
    """The word from its first letter on, staying where the goal can still be reached in time."""
    n = len(layers)
    useful = [TRUE] * (n + 1)  # useful[i]: states after i symbols
    for i in range(n, 0, -1):
        layer = layers[i - 1]  # where it is one state, that is the way
        useful[i - 1] = layer if steps.one(layer) else steps.before(layer, useful[i], i, i == n)
    numbers, states = [], useful[0]
    for i in range(1, n + 1):
        number, states = steps.least_after(states, useful[i], i, last=i == n)
        numbers.append(number)
    return numbers


class _Steps:
    """What one position does to a set of states."""

    def __init__(self, machine: GateMachine, goal: Goal, letters: Letters, budget: int) -> None:
        self.machine, self.goal, self.letters = machine, goal, letters
        self._never = frozenset(machine.never if goal.at == "last" else ())
        """What is false at every position was false before: no bit remembers it."""
        self._memories = [k for k in machine.memories if k not in self._never]
        self.diagrams = Diagrams(budget)
        self._known: dict[tuple[int, bool], list[int]] = {}
        self._schedules: dict[tuple[int, bool, str], _Schedule] = {}
        self._assign_levels()
        d = self.diagrams
        self.start = d.all_of(d.negation(d.variable(self._bit[k])) for k in self._memories)

    def collect(self, needed: list[int]) -> dict[int, int]:
        """Drop all diagrams but these and those of the steps; where they are now."""
        own = [self.start, *(part for parts in self._known.values() for part in parts)]
        own += (part for order in self._schedules.values() for part, _ in order)
        moved = self.diagrams.collect([*needed, *own])
        self.start = moved[self.start]
        for key, parts in self._known.items():
            self._known[key] = [moved[part] for part in parts]
        for name, order in self._schedules.items():
            self._schedules[name] = [(moved[part], done) for part, done in order]
        return moved

    def _assign_levels(self) -> None:
        """Variables in the order in which a reader of the formula meets them.

        A bit has two levels, the lower one for its value after the position.
        """
        letters = self.letters
        self._bit: dict[int, int] = {}
        self._name: dict[str, int] = {}
        self._unknown: dict[int, int] = {}
        level = 0 if letters.propositional else letters.bits
        needs = {*self._memories, *self.machine.promises}
        for k in _as_read(self.machine):
            match self.machine.gates[k][0]:
                case Unknown(number):
                    self._unknown[number] = level
                    level += 1
                case nodes.Symbol(name) if letters.propositional:
                    self._name[name] = level
                    level += 1
                case _ if k in needs:
                    self._bit[k] = level
                    level += 2
        for k, whose in self.machine.shared:
            if whose in self._bit:
                self._bit[k] = self._bit[whose]
        # The levels of a letter's number, highest bit first; a name that no gate reads has none.
        self._code: list[int | None] = (
            [self._name.get(name) for name in letters.names]
            if letters.propositional
            else list(range(letters.bits))
        )
        self._before = frozenset(self._bit.values())
        self._after = frozenset(level + 1 for level in self._before)
        self._letter = frozenset(level for level in self._code if level is not None)
        self._inputs = self._letter | frozenset(self._unknown.values())

    def one(self, states: int) -> bool:
        """Is it one state?"""
        return self.diagrams.is_one(states, len(self._before))

    def after(self, states: int, i: int, last: bool = False) -> int:
        """The states after position i."""
        reached = self._apply(states, i, last, self._before | self._inputs, "after")
        return self.diagrams.rename(reached, -1)

    def before(self, states: int, after: int, i: int, last: bool) -> int:
        """Those of `states` from which position i leads to `after`."""
        both = self._constrained(states, after)
        return self._apply(both, i, last, self._after | self._inputs, "before")

    def least_after(self, states: int, after: int, i: int, last: bool) -> tuple[int, int]:
        """The smallest letter that leads from `states` to `after`, and where it leads."""
        both = self._constrained(states, after)
        forget = self._before | self._inputs - self._letter
        return self._least(self._apply(both, i, last, forget, "least_after"), -1)

    def least_before(self, states: int, after: int, i: int, last: bool) -> tuple[int, int]:
        """The smallest letter that leads from `states` to `after`, and from where."""
        both = self._constrained(states, after)
        forget = self._after | self._inputs - self._letter
        return self._least(self._apply(both, i, last, forget, "least_before"), 0)

    def _least(self, reached: int, by: int) -> tuple[int, int]:
        chosen = self.diagrams.least(reached, [x for x in self._code if x is not None])
        number = 0
        for level in self._code:
            number = 2 * number + (level is not None and chosen[level])
        return number, self.diagrams.rename(self.diagrams.restrict(reached, chosen), by)

    def _constrained(self, states: int, after: int) -> int:
        return self.diagrams.conjunction(states, self.diagrams.rename(after, 1))

    def _apply(self, states: int, i: int, last: bool, forget: frozenset[int], name: str) -> int:
        key = (self.machine.place(i), last, name)
        if key not in self._schedules:
            self._schedules[key] = _schedule(self.diagrams, self._parts(i, last), forget)
        for part, done in self._schedules[key]:
            states = self.diagrams.product(states, part, done)
        return states

    def _parts(self, i: int, last: bool) -> list[int]:
        """Sets of (states before, letter, states after), whose intersection is the step."""
        key = (self.machine.place(i), last)
        if key not in self._known:
            self._known[key] = list(self._make_parts(i, last))
        return self._known[key]

    def _make_parts(self, i: int, last: bool) -> Iterable[int]:
        d, machine = self.diagrams, self.machine
        values = self._values(i, last)
        yield self._valid()
        for k in machine.promises:
            yield d.equal(d.variable(self._bit[k]), values[machine.remembered(k)])
        if not last:
            for k in self._memories:
                yield d.equal(d.variable(self._bit[k] + 1), values[machine.remembered(k)])
        yield from (d.negation(values[k]) for k in machine.never if k in self._never)
        if last if self.goal.at == "last" else i == 1:
            yield values[machine.root]

    def _valid(self) -> int:
        """The letters that exist, and what is known of the unknowns."""
        d = self.diagrams
        valid = TRUE
        if not self.letters.propositional:
            valid = _below(d, list(range(self.letters.bits)), self.letters.count)
        for clause in self.goal.facts:
            if any(number not in self._unknown for number, _ in clause):
                continue  # about a comparison that does not matter any more
            one = TRUE  # not one of them: the negation of the clause
            for number, value in clause:
                literal = d.variable(self._unknown[number])
                one = d.conjunction(one, d.negation(literal) if value else literal)
            valid = d.difference(valid, one)
        return valid

    def _values(self, i: int, last: bool) -> list[int]:
        """Every gate at position i."""
        values: list[int] = []
        for k, (node, operands) in enumerate(self.machine.gates):
            below = [values[operand] for operand in operands]
            values.append(self._value(k, node, below, i, last))
        return values

    def _value(self, k: int, node: nodes.Node, below: list[int], i: int, last: bool) -> int:
        d = self.diagrams
        match node:
            case nodes.Symbol(name):
                return self._symbol(name)
            case Unknown(number):
                return d.variable(self._unknown[number])
            case nodes.Constant(value):
                return int(value)
            case nodes.First():
                return int(i == 1)
            case nodes.Last():
                return int(last)
            case nodes.Mod(modulus, remainder):
                return int(i % modulus == remainder)
            case nodes.At(predicate):
                return int(column(predicate, np.array([i]), i)[0])
            case nodes.Not():
                return d.negation(below[0])
            case nodes.And():
                return d.conjunction(*below)
            case nodes.Or():
                return d.disjunction(*below)
            case nodes.Xor():
                return d.exclusive(*below)
            case nodes.Yesterday():
                return self._before_it(k)
            case nodes.Since():
                return d.disjunction(below[1], d.conjunction(below[0], self._before_it(k)))
            case nodes.Tomorrow():
                return FALSE if last else d.variable(self._bit[k] + 1)
            case nodes.Until():
                later = FALSE if last else d.variable(self._bit[k] + 1)
                return d.disjunction(below[1], d.conjunction(below[0], later))
        raise AssertionError(f"{type(node).__name__} is not in core form")

    def _before_it(self, memory: int) -> int:
        return self.diagrams.variable(self._bit[memory]) if memory in self._bit else FALSE

    def _symbol(self, name: str) -> int:
        d = self.diagrams
        if self.letters.propositional:
            return d.variable(self._name[name])
        number, high = self.letters.names.index(name), self.letters.bits - 1
        bits = [d.variable(level) for level in range(self.letters.bits)]
        return d.all_of(
            bit if number >> high - k & 1 else d.negation(bit) for k, bit in enumerate(bits)
        )


def _as_read(machine: GateMachine) -> list[int]:
    """The gates in the order in which they stand in the formula, operators before operands."""
    met: dict[int, None] = {}
    todo = [machine.root]
    while todo:
        k = todo.pop()
        if k not in met:
            met[k] = None
            todo.extend(reversed(machine.gates[k][1]))
    return list(met)


def _below(d: Diagrams, levels: list[int], bound: int) -> int:
    """The numbers, highest bit at the first level, that are less than `bound`."""
    if bound >> len(levels):
        return TRUE
    less = FALSE
    for k, level in enumerate(reversed(levels)):
        # This bit on top is less than the bound's, or the same and what follows is less.
        low = d.negation(d.variable(level))
        less = d.disjunction(low, less) if bound >> k & 1 else d.conjunction(low, less)
    return less


_Schedule = list[tuple[int, frozenset[int]]]


def _schedule(d: Diagrams, parts: list[int], forget: frozenset[int]) -> _Schedule:
    """An order in which to intersect the parts, each with the variables that can go after it.

    A variable can be forgotten once no later part mentions it. Sets on the way stay small if few
    variables live at a time: next is always the part that brings the fewest and lets most go.
    """
    left = {part: d.support(part) for part in dict.fromkeys(parts)}
    mentions: dict[int, int] = {}
    for support in left.values():
        for level in support & forget:
            mentions[level] = mentions.get(level, 0) + 1
    order: _Schedule = [(TRUE, forget.difference(mentions))]

    def gain(part: int) -> tuple[int, int]:
        goes = sum(mentions.get(level) == 1 for level in left[part])
        return goes - len(left[part] - forget), -len(left[part])

    while left:
        part = max(left, key=gain)
        support = left.pop(part) & forget
        order.append((part, frozenset(level for level in support if mentions[level] == 1)))
        for level in support:
            mentions[level] -= 1
    return _clustered(d, order)


def _clustered(d: Diagrams, order: _Schedule) -> _Schedule:
    """Neighbours in one, as long as it is small: each part of a step costs a walk through the
    states."""
    clusters = order[:1]
    for part, done in order[1:]:
        together = d.conjunction(clusters[-1][0], part)
        if d.size(together) <= _CLUSTER:
            clusters[-1] = together, clusters[-1][1] | done
        else:
            clusters.append((part, done))
    return clusters
