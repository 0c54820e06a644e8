"""What two literals of a program rest on, and what definitions say of it.

Two neighbouring positions know little of each other: of a head that looks back its value at the
position before, of a head that looks ahead its value at the next. A *pair* is such a signal and
the signal `beside` it, which says what it was there. All else at a position follows from its
symbol, from inputs and from pairs. A *fact* is one such consequence, by its name in
`proofs/Facts.v`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.export.coq.matcher import Matcher
from softhat.export.coq.syntax import numbers, sequence
from softhat.program.gates import And, Xor
from softhat.program.heads import Direction, Latest, Previous, Shift, StrictLatest
from softhat.program.inputs import FirstPosition, LastPosition, PositionMod, TokenIn
from softhat.program.literals import Literal
from softhat.program.signals import Signal, reads

Bools = NDArray[np.bool_]
Values = Mapping[int, Bools]

LETTER = -1
"""The symbol at a position, among the signals that a fact is about."""
MOST_PAIRS = 60
MOST_RESIDUES = 16
OPPOSITE: dict[Direction, Direction] = {"past": "future", "future": "past"}


class ConeOpenError(Exception):
    """The question is too large."""


@dataclass(frozen=True, slots=True)
class ConePair:
    """The signal `beside` is `signal`, one position before along the direction."""

    signal: int
    beside: int
    direction: Direction


@dataclass(frozen=True)
class Fact:
    """Something that Coq knows at every position."""

    text: str
    """The reason for it."""
    about: frozenset[int]
    holds: Callable[[Values], Any] | None = None
    """Whether it is so, for columns of values; None where the situations say it already."""
    eager: bool = False
    """Worth a look as soon as one of its signals is known."""
    local: bool = False
    """Of use for what positions add to comparisons only."""


class Cone:
    """What two literals rest on; heads in `free` may have any value."""

    def __init__(
        self, matcher: Matcher, goal: tuple[Literal, Literal], free: frozenset[int]
    ) -> None:
        self.matcher, self.goal, self.free = matcher, goal, free
        self.edges: dict[Direction, int] = {"past": matcher.add(FirstPosition())}
        """The position that has none before it along a direction; the last one if it matters."""
        self.tokens: list[int] = []
        self.leaves: list[int] = []
        self.residues: list[int] = []
        self.computed: list[int] = []
        """Gates, and heads that follow from signals beside them."""
        self.pairs: list[ConePair] = []
        self._seen: set[int] = set()
        self.include([literal.signal for literal in goal if literal.signal >= 0])
        ahead = sum(pair.direction == "future" for pair in self.pairs)
        self.way: Direction = "future" if 2 * ahead > len(self.pairs) else "past"
        """From where to read a word, so that least has to be guessed."""
        if self.way == "future":
            self.edges["future"] = matcher.add(LastPosition())

    def include(self, signals: list[int]) -> None:
        """Add signals and what they rest on."""
        matcher = self.matcher
        todo = list(signals)
        while todo:
            at = todo.pop()
            if at in self._seen:
                continue
            self._seen.add(at)
            signal = matcher.signals[at]
            match signal:
                case And() | Xor():
                    self.computed.append(at)
                    todo += reads(signal)
                case Latest() | StrictLatest() | Previous() | Shift() if at not in self.free:
                    todo += self._head(at, signal)
                case TokenIn() if not matcher.space.propositional:
                    self.tokens.append(at)
                case FirstPosition():
                    pass
                case LastPosition():
                    self.edges["future"] = at
                case PositionMod(modulus, _) if modulus <= MOST_RESIDUES:
                    self.residues.append(at)
                    todo += (matcher.add(PositionMod(modulus, r)) for r in range(modulus))
                    self.pair(at, "past")
                case _:
                    self.leaves.append(at)

    def finish(self) -> None:
        """Once every signal is included: add what else two positions know of each other."""
        if any(pair.direction == "future" for pair in self.pairs):
            self.edges["future"] = self.matcher.add(LastPosition())
            self.pair(self.edges["past"], "future")
        if "future" in self.edges:
            self.pair(self.edges["future"], "past")
        self.computed.sort()
        self.pairs.sort(key=lambda pair: (pair.direction != self.way, pair.signal))
        if len(self.pairs) > MOST_PAIRS:
            raise ConeOpenError

    def pair(self, signal: int, direction: Direction) -> int:
        pair = ConePair(signal, self.beside(signal, direction), direction)
        if pair not in self.pairs:
            self.pairs.append(pair)
        return pair.beside

    def beside(self, signal: int, direction: Direction) -> int:
        """The signal that says what another was, one position before along the direction."""
        return self.matcher.add(Previous(Literal(signal, True), direction))

    def _head(self, at: int, signal: Signal) -> Iterator[int]:
        """Note how a head follows from signals beside it, and give the signals that this uses."""
        match signal:
            case Latest(bad, value, direction):
                self.pair(at, direction)
                self.computed.append(at)
                yield from (x.signal for x in (bad, value) if x.signal >= 0)
            case Previous(value, direction):
                if value.signal < 0:
                    raise ConeOpenError
                self.pair(value.signal, direction)
                if not value.positive:
                    self.computed.append(at)
                yield value.signal
            case StrictLatest() | Shift():
                inner = self.inner(signal)
                self.pair(inner, signal.direction)
                self.computed.append(at)
                yield inner

    def inner(self, signal: Signal) -> int:
        """The signal that a head is one step beyond."""
        add = self.matcher.add
        match signal:
            case StrictLatest(bad, value, direction):
                return add(Latest(bad, value, direction))
            case Shift(value, 2, direction):
                return add(Previous(value, direction))
            case Shift(value, distance, direction):
                return add(Shift(value, distance - 1, direction))
        raise TypeError(f"not beyond another head: {signal!r}")

    # Facts

    def facts(self) -> Iterator[Fact]:
        """What definitions say of the signals at one position and beside it."""
        for at in self.tokens:
            yield Fact(f"Reads {at}", frozenset((LETTER, at)))
        for pair in self.pairs:
            yield self._outside(pair)
        for at in self.residues:
            yield from self._residue(at)
        for at in self.computed:
            yield self._definition(at)

    def _outside(self, pair: ConePair) -> Fact:
        """There is nothing before the first position, and the last is before none."""
        beside, edge = pair.beside, self.edges[pair.direction]
        if pair.signal == self.edges.get(OPPOSITE[pair.direction]):
            return Fact(f"Ends {beside}", frozenset((beside,)), lambda v: ~v[beside])
        return Fact(
            f"Inside {beside} {edge}",
            frozenset((beside, edge)),
            lambda v: ~(v[beside] & v[edge]),
        )

    def _residue(self, at: int) -> Iterator[Fact]:
        signal, first = self.matcher.signals[at], self.edges["past"]
        assert isinstance(signal, PositionMod)
        modulus = signal.modulus
        following = PositionMod(modulus, (signal.remainder + 1) % modulus)
        beside, target = self.beside(at, "past"), self.matcher.add(following)
        begins = 1 % modulus == signal.remainder
        yield Fact(
            f"Turn {beside} {target} {first}",
            frozenset((beside, target, first)),
            lambda v: v[beside] == (~v[first] & v[target]),
        )
        yield Fact(
            f"Begins {at} {first}",
            frozenset((at, first)),
            lambda v: ~v[first] | (v[at] == begins),
        )

    def _definition(self, at: int) -> Fact:
        signal = self.matcher.signals[at]
        match signal:
            case And(literals):
                return Fact(
                    f"Joins {at}",
                    frozenset((at, *reads(signal))),
                    lambda v: (
                        v[at] == np.logical_and.reduce([value_of(x, v, at) for x in literals])
                    ),
                )
            case Xor(left, right):
                return Fact(
                    f"Joins {at}",
                    frozenset((at, left, right)),
                    lambda v: v[at] == (v[left] ^ v[right]),
                )
            case Latest(bad, value, direction):
                beside = self.beside(at, direction)
                read = [x.signal for x in (bad, value) if x.signal >= 0]
                return Fact(
                    f"Unfold {at} {beside}",
                    frozenset((at, beside, *read)),
                    lambda v: (
                        v[at] == np.where(value_of(bad, v, at), v[beside], value_of(value, v, at))
                    ),
                )
            case Previous(value, direction):
                beside, edge = self.beside(value.signal, direction), self.edges[direction]
                return Fact(
                    f"Opposite {at} {beside} {edge}",
                    frozenset((at, beside, edge)),
                    lambda v: v[at] == (~v[edge] & ~v[beside]),
                )
            case StrictLatest() | Shift():
                inner = self.inner(signal)
                beside = self.beside(inner, signal.direction)
                return Fact(
                    f"StepBeyond {at} {inner} {beside}",
                    frozenset((at, beside)),
                    lambda v: v[at] == v[beside],
                )
        raise TypeError(f"not computed: {signal!r}")

    def returned(self, pair: ConePair) -> Fact:
        """One step against the pair's direction, and one along it."""
        against = OPPOSITE[pair.direction]
        twice, edge = self.beside(pair.beside, against), self.edges[against]
        return Fact(
            f"Return {twice} {pair.beside} {pair.signal} {edge}",
            frozenset((twice, pair.signal, edge)),
            lambda v: v[twice] == (~v[edge] & v[pair.signal]),
        )

    def order(self) -> list[int]:
        """The signals to decide at a position after what comes from the cut before it: each where
        what it follows from is known, a guess only before the first that needs it."""
        order: dict[int, None] = dict.fromkeys([LETTER, *self.tokens, *self.residues])
        besides = {pair.beside for pair in self.pairs}
        for at in self.computed:
            read = sorted(self._definition(at).about - {at})
            order |= dict.fromkeys(r for r in read if r in besides or r in self.leaves)
            order[at] = None
        order |= dict.fromkeys([*self.leaves, *sorted(besides)])
        return list(order)


def value_of(literal: Literal, values: Values, like: int) -> Bools:
    """The values of a literal; `like` is a signal that has values."""
    if literal.signal < 0:
        return np.full(len(values[like]), literal.positive)
    column = values[literal.signal]
    return column if literal.positive else ~column


def cases_text(watched: Iterable[tuple[int, Iterable[int]]]) -> str:
    """Which signals to decide after each other, and which facts, by their numbers, to look at
    then."""
    return sequence(
        f"{'Letter' if at == LETTER else f'On {at}'} {numbers(facts)}" for at, facts in watched
    )
