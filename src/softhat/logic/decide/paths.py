"""What a comparison of counts can come to, where what is counted looks back only.

Then finitely many states tell at each position which counted formulas hold, and a linear form is
the sum of what the steps of a path through these states add: one amount at a position before i,
one at i itself, one after it. Its least value over all words is a shortest path, so it is exact
for words of every length; whether it can be 0 is a search along paths that can still get there.
What looks ahead only is the same on the reversed word.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from softhat.logic.decide.letters import Letters
from softhat.logic.decide.machine import looks_ahead, mirror
from softhat.logic.linear import LinearForm
from softhat.logic.semantics.gates import Gate, gate
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.walk import Distinct, distinct

_MOVES = 600
"""States times letters: a machine with more is left alone."""
_VISITS = 20_000
"""Of states with a sum, looking for a certain sum: a twentieth of a second."""


class StateStep(NamedTuple):
    """From one state to another, and what that adds to the sum."""

    source: int
    target: int
    added: int


@dataclass(frozen=True)
class Paths:
    """All that a linear form can come to. Paths start in state 0 with the form's constant, and end
    in any of the states from `here` on: those at position i or after it."""

    start: int
    steps: tuple[StateStep, ...]
    states: int
    here: int
    edge: Formula
    """`last`, or `first` where words are read from their end."""

    @property
    def least(self) -> float:
        """The least value at a position of a word, -∞ if there is none."""
        sums = _least_sums(self.states, 0, self.steps)
        return self.start + min(sums[self.here :]) if sums else -math.inf

    def negated(self) -> Paths:
        steps = tuple([StateStep(a, b, -added) for a, b, added in self.steps])
        return replace(self, start=-self.start, steps=steps)

    def ending_here(self) -> Paths:
        """The states of words that end at position i, which is the `edge`."""
        return replace(self, steps=tuple([s for s in self.steps if s.source < self.here]))

    def meets(self, most: int) -> bool | None:
        """Can the value be one of 0 … `most`? None if that is open."""
        opposite = replace(self.negated(), start=most - self.start)  # most minus the value
        for paths in (self, opposite):
            left = paths._left()
            if left is not None:
                return paths._reaches(most, left)
        return None

    def _left(self) -> list[float] | None:
        """The least that paths from each state to the end can add; None if it is unbounded."""
        steps = [StateStep(self.states, end, 0) for end in range(self.here, self.states)]
        steps += [StateStep(b, a, added) for a, b, added in self.steps]
        sums = _least_sums(self.states + 1, self.states, steps)
        return None if sums is None else sums[:-1]

    def _reaches(self, most: int, left: Sequence[float]) -> bool | None:
        """A search among the sums that may still end at most at `most`. No cycle lowers a sum, so
        they are finitely many."""
        after: dict[int, list[StateStep]] = {}
        for step in self.steps:
            after.setdefault(step.source, []).append(step)
        todo = [(0, self.start)]
        met = set(todo)
        while todo:
            state, value = todo.pop()
            if state >= self.here and 0 <= value <= most:
                return True
            for _, target, added in after.get(state, ()):
                now = (target, value + added)
                if now not in met and now[1] + left[target] <= most:
                    met.add(now)
                    todo.append(now)
            if len(met) > _VISITS:
                return None
        return False


def _least_sums(states: int, source: int, steps: Iterable[StateStep]) -> list[float] | None:
    """The least sums from a state to each (Bellman and Ford); None if a cycle lowers them."""
    sums = [math.inf] * states
    sums[source] = 0
    for _ in range(states):
        changed = False
        for a, b, added in steps:
            if sums[a] < math.inf and sums[a] + added < sums[b]:
                sums[b], changed = sums[a] + added, True
        if not changed:
            return sums
    return None


def paths_of(form: LinearForm, letters: Letters) -> Paths | None:
    """The paths of a linear form; None where its formulas look both ways, count, or need too many
    states."""
    edge: Formula = nodes.LAST
    if any(map(looks_ahead, form.operands)):
        turned = _mirrored(form)
        if turned is None or any(map(looks_ahead, turned.operands)):
            return None
        form, edge = turned, nodes.FIRST
    rows, _ = distinct(nodes.TRUE, *form.operands)
    if letters.count > _MOVES or any(type(node) not in _KNOWN for node, _ in rows):
        return None
    return _explored(form, rows, letters, edge)


_KNOWN = {
    nodes.Symbol, nodes.Constant, nodes.First, nodes.Mod, nodes.Not, nodes.And, nodes.Or,
    nodes.Xor, nodes.Yesterday, nodes.Since,
}  # fmt: skip


def _mirrored(form: LinearForm) -> LinearForm | None:
    """The form that has the same value on the reversed word."""
    sides = []
    for side in (form.future, form.past, form.total):
        images = [(a, mirror(formula)) for a, formula in side]
        if any(image is None for _, image in images):
            return None
        sides.append(tuple([(a, image) for a, image in images if image is not None]))
    past, future, total = sides
    return LinearForm(past, future, total, form.constant)


def _explored(form: LinearForm, rows: Distinct, letters: Letters, edge: Formula) -> Paths | None:
    """The states that words lead to. Each has the position, as far as it matters, and the values
    that `Y` and `S` remember."""
    place = {node: at for at, (node, _) in enumerate(rows)}
    memories = [
        (at, places[0] if isinstance(node, nodes.Yesterday) else at)
        for at, (node, places) in enumerate(rows)
        if isinstance(node, nodes.Yesterday | nodes.Since)
    ]
    period = math.lcm(*[node.modulus for node, _ in rows if isinstance(node, nodes.Mod)])
    sides = [
        [(a, place[formula]) for a, formula in side]
        for side in (form.past, form.future, form.total)
    ]
    state_of: dict[tuple[int, tuple[bool, ...]], int] = {(0, (False,) * len(memories)): 0}
    moves: list[tuple[int, int, int, int, int]] = []
    todo = list(state_of)
    while todo:
        state = todo.pop()
        last, remembered = state
        position = last + 1
        for number in range(letters.count):
            before = dict(zip((at for at, _ in memories), remembered, strict=True))
            values = _values(rows, position, letters.letter(number), before)
            after = (
                position if position <= period else position - period,
                tuple([values[source] for _, source in memories]),
            )
            if after not in state_of:
                state_of[after] = len(state_of)
                todo.append(after)
            past, future, total = (sum(a * values[at] for a, at in side) for side in sides)
            moves.append((state_of[state], state_of[after], past + total, future, past))
        if len(state_of) * letters.count > _MOVES:
            return None
    count = len(state_of)
    steps = [StateStep(a, b, before) for a, b, before, _, _ in moves]
    steps += [StateStep(a, count + b, before + future) for a, b, before, future, _ in moves]
    steps += [
        StateStep(count + a, count + b, before + future - past)
        for a, b, before, future, past in moves
    ]
    return Paths(form.constant, tuple(dict.fromkeys(steps)), 2 * count, count, edge)


def _values(
    rows: Distinct, position: int, letter: str | frozenset[str], before: dict[int, bool]
) -> list[bool]:
    """Which formulas hold at a position that reads this letter, with what `Y` and `S` remember."""
    values: list[bool] = []
    for at, (node, places) in enumerate(rows):
        below = [values[place] for place in places]
        now = without_memory(node, below, position, letter)
        if now is None:
            now = before[at]
            if isinstance(node, nodes.Since):
                now = below[1] or (below[0] and now)
        values.append(now)
    return values


def without_memory(
    node: nodes.Node, below: Sequence[bool], position: int, letter: str | frozenset[str]
) -> bool | None:
    """The truth of a core node at a position that reads this letter, from its operands' truth
    there; None for nodes that look elsewhere or count."""
    match node:
        case nodes.Symbol(name):
            return name in letter if isinstance(letter, frozenset) else name == letter
        case nodes.Constant(value):
            return value
        case nodes.First():
            return position == 1
        case nodes.Mod(modulus, remainder):
            return position % modulus == remainder
        case _ if isinstance(node, Gate):
            return bool(gate(node, below, True))
    return None
