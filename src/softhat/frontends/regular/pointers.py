"""One block for every length: logarithmic depth by pointers that double themselves.

**Theorem 41.** Let an automaton have the states 0, 1, …, q - 1, of which 0 is the first. Every
position i holds a function f(i) from states to states and a pointer p(i), the number of a position
or 0 for none. At first f(i) is what the symbol at i does, and p(i) = i - 1. A *round* replaces

    f(i)(s)  by  f(i)(f(p(i))(s)),    p(i)  by  p(p(i)),

with 0 for all that is read where p(i) is 0. After k rounds p(i) = max(i - 2^k, 0), and f(i) is what
the last 2^k symbols up to i do; where fewer stand there, f(i) is constant, the state after the
whole prefix. So f(i)(0) is the state after the prefix for every i <= 2^k, and stays it in every
further round.

*Proof.* By induction. If i > 2^k, what stands at p(i) = i - 2^k speaks of the 2^k symbols before
the last 2^k, and its pointer is max(i - 2^(k+1), 0). If i <= 2^k nothing is read: all states go to
f(i)(0), and the pointer stays 0.

Every round is the same, so it is *one* block of weights, and a word of n symbols goes through it
⌈log₂ n⌉ times. (Theorem 37 reads at the distance 2^k, which is another query in every round.) The
pointer is written in binary, and one `At` head looks for the position that has it as its number:
with K digits the block serves every n < 2^K.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from softhat.frontends.regular.dfa import DFA
from softhat.frontends.regular.doubling import MEMBER, LogDepth, check_same
from softhat.io.errors import SofthatError
from softhat.program.gates import And, Table
from softhat.program.heads import At
from softhat.program.inputs import PositionBit, TokenIn
from softhat.program.literals import Literal
from softhat.program.signals import Program, Signal

DIGITS = 20
"""Of pointers: a block serves words of fewer than 2^20 symbols."""
LONGEST = (1 << DIGITS) - 1
SHARP_FOR = 1 << 51
"""The head is as sharp as for words of this length. Then the logarithm of 64 N is rounded up to 40,
and all scores are multiples of 8: so they are exact in bfloat16 too."""
MOST_PARAMETERS = 250_000_000
"""Of one block; eight bytes each."""


@dataclass(frozen=True, slots=True)
class State:
    """What a position holds between rounds, by places (signals, or coordinates of a model)."""

    function: tuple[tuple[int, ...], ...]
    """For every state the binary digits of where it goes, the lowest first."""
    accepts: tuple[int, ...]
    """For every state whether it goes to an accepting one."""
    pointer: tuple[int, ...]
    """The binary digits of the pointer, the lowest first."""

    @property
    def places(self) -> tuple[int, ...]:
        """All of them, in order."""
        return (*(at for row in self.function for at in row), *self.accepts, *self.pointer)


@dataclass(frozen=True, slots=True)
class Rounds:
    """An attention program of some rounds, and what holds the state before and after each."""

    program: Program
    states: tuple[State, ...]
    heads: tuple[tuple[int, ...], ...]
    """The signals that the head of each round reads at the pointer."""


def rounds(language: LogDepth, symbols: Sequence[str], count: int, digits: int = DIGITS) -> Rounds:
    """`count` rounds of Theorem 41, with pointers of `digits` digits. Nothing is simplified, so
    that every round is the same."""
    dfa = language.dfa
    check_same(symbols, dfa.alphabet)
    states = len(dfa.step)
    width = (states - 1).bit_length()
    held = states * (width + 1) + digits
    parameters = 3 * (2 * held + digits) * 2 * states * states * (width + 1)
    if parameters > MOST_PARAMETERS:
        raise SofthatError(
            f"{states:,} states need a block of up to {parameters:,} parameters, and "
            f"{MOST_PARAMETERS:,} is the limit: use a smaller automaton"
        )
    return _Rounds(dfa, digits).run(tuple(symbols), count)


@dataclass(slots=True)
class _Rounds:
    dfa: DFA
    digits: int
    signals: list[Signal] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)

    def run(self, symbols: tuple[str, ...], count: int) -> Rounds:
        states = [self._first()]
        keys = tuple(self._bit(b, 0, f"digit {b} of i") for b in range(self.digits))
        heads = []
        for _ in range(count):
            state, read = self._round(states[-1], keys)
            states.append(state)
            heads.append(read)
        output = (MEMBER, Literal(states[-1].accepts[0], True))
        program = Program(tuple(self.signals), tuple(self.labels), (output,), symbols, False)
        return Rounds(program, tuple(states), tuple(heads))

    def _add(self, signal: Signal, label: str) -> int:
        self.signals.append(signal)
        self.labels.append(label)
        return len(self.signals) - 1

    def _first(self) -> State:
        dfa, width = self.dfa, (len(self.dfa.step) - 1).bit_length()

        def where(holds: Sequence[bool], label: str) -> int:
            pairs = zip(dfa.alphabet, holds, strict=True)
            return self._add(TokenIn(tuple(symbol for symbol, yes in pairs if yes)), label)

        return State(
            tuple(
                tuple(
                    where([bool(to >> b & 1) for to in row], f"f({s}) digit {b}")
                    for b in range(width)
                )
                for s, row in enumerate(dfa.step)
            ),
            tuple(
                where([to in dfa.accepting for to in row], f"f({s}) accepts")
                for s, row in enumerate(dfa.step)
            ),
            tuple(self._bit(b, -1, f"pointer digit {b}") for b in range(self.digits)),
        )

    def _bit(self, bit: int, constant: int, label: str) -> int:
        return self._add(PositionBit(bit, 1, 0, constant), label)

    def _round(self, state: State, keys: tuple[int, ...]) -> tuple[State, tuple[int, ...]]:
        queries = tuple(Literal(at, True) for at in state.pointer)
        numbers = tuple(Literal(at, True) for at in keys)

        def read(at: int) -> int:
            head = At(queries, numbers, Literal(at, True), "<=", SHARP_FOR)
            return self._add(head, f"at the pointer: {self.labels[at]}")

        before = [[read(at) for at in row] for row in state.function]
        jumped = [read(at) for at in state.pointer]
        after = State(
            tuple(
                tuple(self._chosen(at, [row[b] for row in state.function], state.function[s][b])
                      for b in range(len(at)))
                for s, at in enumerate(before)
            ),
            tuple(self._chosen(at, state.accepts, state.accepts[s])
                  for s, at in enumerate(before)),
            tuple(self._add(And((Literal(at, True),)), self.labels[old])
                  for at, old in zip(jumped, state.pointer, strict=True)),
        )  # fmt: skip
        return after, (*(at for row in before for at in row), *jumped)

    def _chosen(self, state: list[int], of: Sequence[int], old: int) -> int:
        """`of[r]`, where r is the state with these binary digits, in the place of `old`."""
        terms = []
        for r, value in enumerate(of):
            code = [Literal(bit, bool(r >> b & 1)) for b, bit in enumerate(state)]
            terms.append((*code, Literal(value, True)))
        return self._add(Table(tuple(terms)), self.labels[old])
