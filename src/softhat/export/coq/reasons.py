"""Why two signals of a program are equal on every word: induction over the states of a word.

An optimiser may have used laws of temporal logic, so that the formula's own signals (helpers) and
the program's differ. Here the situations that words lead to are enumerated: at each position the
values of all signals that matter, given those at the position before. They are an invariant, which
Coq checks by induction (`proofs/Facts.v`). Nothing here is trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from softhat.export.coq.hints import Matcher
from softhat.program.gates import And, Xor
from softhat.program.heads import Direction, Latest, Previous, Shift, StrictLatest
from softhat.program.inputs import FirstPosition, LastPosition, TokenIn
from softhat.program.literals import Literal
from softhat.program.signals import Signal, reads

MOST_BITS = 7
"""Signals of an invariant: Coq splits cases over them and their values before."""
MOST_SITUATIONS = 20_000

_Heads = Latest | StrictLatest | Previous | Shift
Values = dict[int, bool]


class Reasons:
    """The facts that are needed of one matcher's signals, as Coq's reasons for them."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher
        self.texts: list[str] = []
        self._given: set[str] = set()

    def equal(self, left: Literal, right: Literal) -> bool:
        """Prove that two literals agree everywhere, if that can be done; note why."""
        directions: tuple[Direction, ...] = ("past", "future")
        for direction in directions:
            cone = _Cone(self.matcher, (left, right), direction)
            if cone.invariant():
                for text in cone.reasons():
                    if text not in self._given:
                        self._given.add(text)
                        self.texts.append(text)
                return True
        return False


class _Cone:
    """What two literals rest on, along one direction of the word."""

    def __init__(self, matcher: Matcher, goal: tuple[Literal, Literal], d: Direction) -> None:
        self.matcher, self.goal, self.direction = matcher, goal, d
        self.edge = matcher.add(FirstPosition() if d == "past" else LastPosition())
        self.leaves: list[int] = [self.edge]
        self.heads: list[int] = []
        self.gates: list[int] = []
        self.states: set[tuple[bool, ...]] = set()
        todo = [literal.signal for literal in goal if literal.signal >= 0]
        seen = {self.edge}
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            signal = matcher.signals[at]
            if isinstance(signal, And | Xor):
                self.gates.append(at)
                todo += reads(signal)
            elif isinstance(signal, _Heads) and signal.direction == d:
                self.heads.append(at)
                todo += reads(signal)
                todo += self._inner(signal)
            else:
                self.leaves.append(at)
        self.heads.sort()
        self.gates.sort()
        self.bits = [*self.leaves, *self.heads]

    def _inner(self, signal: Signal) -> Iterator[int]:
        """The signal that a head is one step beyond."""
        add, d = self.matcher.add, self.direction
        match signal:
            case StrictLatest(bad, value, _):
                yield add(Latest(bad, value, d))
            case Shift(value, 2, _):
                yield add(Previous(value, d))
            case Shift(value, distance, _):
                yield add(Shift(value, distance - 1, d))

    # The situations

    def invariant(self) -> bool:
        """Enumerate the situations; do the two literals agree in all of them?"""
        signals = self.matcher.signals
        if len(self.bits) > MOST_BITS or any(isinstance(signals[at], _Heads) for at in self.leaves):
            return False  # too large, or heads of the other direction
        letters = list(self._letters())
        todo: list[Values | None] = [None]
        seen: set[tuple[bool, ...]] = set()
        left, right = self.goal
        while todo:
            before = todo.pop()
            for letter in letters:
                if letter[self.edge] != (before is None):
                    continue
                now = self._situation(before, letter)
                if _holds(left, now) != _holds(right, now):
                    return False
                key = tuple(now[at] for at in self.bits)
                if key not in seen:
                    seen.add(key)
                    todo.append(now)
                    if len(seen) * len(letters) > MOST_SITUATIONS:
                        return False
        self.states = seen
        return True

    def _letters(self) -> Iterator[Values]:
        """All values of the leaves that a position may have."""
        signals, space = self.matcher.signals, self.matcher.space
        tokens = [
            at for at in self.leaves if isinstance(signals[at], TokenIn) and not space.propositional
        ]
        free = [at for at in self.leaves if at not in tokens]
        chosen = dict.fromkeys(
            tuple(name in _symbols(signals[at]) for at in tokens) for name in space.rank
        )
        for bits in product((False, True), repeat=len(free)):
            for values in chosen or [()]:
                yield dict(zip([*free, *tokens], [*bits, *values], strict=True))

    def _situation(self, before: Values | None, letter: Values) -> Values:
        now = dict(letter)
        for at in sorted((*self.gates, *self.heads)):
            match self.matcher.signals[at]:
                case And(literals):
                    now[at] = all(_holds(x, now) for x in literals)
                case Xor(left, right):
                    now[at] = now[left] != now[right]
                case Latest(bad, value, _):
                    kept = before is not None and before[at]
                    now[at] = kept if _holds(bad, now) else _holds(value, now)
                case Previous(value, _):
                    now[at] = before is not None and _holds(value, before)
                case StrictLatest() | Shift() as signal:
                    (inner,) = self._inner(signal)
                    now[at] = before is not None and before[inner]
        return now

    # The reasons

    def reasons(self) -> Iterator[str]:
        add, d = self.matcher.add, self.direction
        before = {at: add(Previous(Literal(at, True), d)) for at in self.bits}
        pairs = "[" + "; ".join(f"({s}, {y})" for s, y in before.items()) + "]"
        for at in self.heads:  # what was before is false at the first position
            match self.matcher.signals[at]:
                case Latest():
                    yield f"Spread {before[at]} (Sig {at}) {self.edge} {pairs}"
                case Previous(value, _) if value.positive and before.get(value.signal) == at:
                    yield f"Spread {at} (Sig {value.signal}) {self.edge} {pairs}"
        for at in self.heads:
            match self.matcher.signals[at]:
                case Latest():
                    yield f"Unfold {at} {before[at]}"
                case Previous(value, _) if before.get(value.signal) != at or not value.positive:
                    x = self._expression(value)
                    yield f"Spread {at} {x} {self.edge} {pairs}"
                case StrictLatest() | Shift() as signal:
                    (inner,) = self._inner(signal)
                    yield f"StepBeyond {at} {inner} {before[inner]}"
        way = "Past" if d == "past" else "Future"
        yield f"Induction {way} {self._invariant()} {self.edge} {pairs}"

    def _expression(self, literal: Literal) -> str:
        """A literal over leaves and heads, gates written out."""
        if literal.signal < 0:
            return "Yes" if literal.positive else "(Neg Yes)"
        match self.matcher.signals[literal.signal]:
            case And(literals):
                text = "Yes"
                for x in reversed(literals):
                    text = f"(Both {self._expression(x)} {text})"
            case Xor(left, right):
                parts = (self._expression(Literal(at, True)) for at in (left, right))
                text = f"(Differ {' '.join(parts)})"
            case _:
                text = f"(Sig {literal.signal})"
        return text if literal.positive else f"(Neg {text})"

    def _invariant(self) -> str:
        """The situations as a decision tree over the bits, the leaves first."""

        def tree(states: frozenset[tuple[bool, ...]], k: int) -> str:
            if not states:
                return "(Neg Yes)"
            if len(states) == 1 << (len(self.bits) - k):
                return "Yes"
            parts = [
                tree(frozenset(state[1:] for state in states if state[0] is value), k + 1)
                for value in (True, False)
            ]
            if parts[0] == parts[1]:
                return parts[0]
            bit = f"(Sig {self.bits[k]})"
            return f"(either (Both {bit} {parts[0]}) (Both (Neg {bit}) {parts[1]}))"

        return tree(frozenset(self.states), 0)


def _holds(literal: Literal, values: Values) -> bool:
    if literal.signal < 0:
        return literal.positive
    return values[literal.signal] == literal.positive


def _symbols(signal: Signal) -> Sequence[str]:
    assert isinstance(signal, TokenIn)
    return signal.symbols
