"""Every regular language in logarithmic depth: functions of states, composed by doubling.

**Theorem 37.** Let an automaton have the states 0, 1, …, q - 1, of which 0 is the first. For
k = 0, 1, … let f_k(i) be the function from states to states that reading the last 2^k symbols up
to position i is; where fewer than 2^k symbols stand there, let it be the constant function whose
value is the state after the whole prefix. Then f_0(i) depends on the symbol at i alone, and

    f_(k+1)(i)(p) = f_k(i)(f_k(i - 2^k)(p)),

with 0 for what is read before the first position. After K rounds f_K(i)(0) is the state after the
prefix up to i, for every i <= 2^K.

*Proof.* If i > 2^k, the last 2^(k+1) symbols are those up to i - 2^k followed by the last 2^k, and
functions compose; if fewer stand before, f_k(i - 2^k) is constant, and so is the composition. If
i <= 2^k there is nothing to read: every p goes to f_k(i)(0), the state after the prefix.

One attention head a round reads at distance 2^k, by the binary code of positions (`At`). A state is
written in binary, so a function is q·⌈log₂ q⌉ bits, and a round is one disjoint sum of q
conjunctions for each of them. No monoid is enumerated, and no group is too difficult.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from softhat.frontends.regular.dfa import DFA, OfAutomaton, minimal
from softhat.io.errors import SofthatError
from softhat.program.draft import Draft
from softhat.program.heads import At, Previous, Shift
from softhat.program.inputs import PositionBit
from softhat.program.literals import FALSE, Literal, possible, spelled
from softhat.program.signals import Program

MOST_LENGTH = 1 << 20
"""Longer words would need a code of more digits than is ever certified."""
MOST_CONJUNCTIONS = 2_000_000
"""Of all rounds together: a model that has more does not fit into memory."""
MOST_PARAMETERS = 1_000_000_000
"""Eight bytes each. A round has about q²⌈log₂ q⌉ hidden units that read 2q⌈log₂ q⌉ coordinates."""
MEMBER = "member"
"""The output's name: the prefix up to here belongs to the language."""


@dataclass(frozen=True)
class LogDepth(OfAutomaton):
    """A regular language that is to be computed in logarithmic depth.

    `softhat.compile(language, max_length=N)` makes the model; `max_length` here is the length if
    that says none.
    """

    text: str
    max_length: int | None = None
    may_count: bool = False
    """Counting (Theorem 40) is taken instead where that is smaller and certified in float32."""

    def __repr__(self) -> str:
        return f"<softhat.LogDepth {self.text}: {len(self.dfa.step)} states>"

    def truth(self, word: Sequence[str]) -> NDArray[np.bool_]:
        """At each position: does the prefix up to it belong to the language?"""
        return np.array(self.dfa.truth(word), np.bool_)

    def accepts(self, word: Sequence[str]) -> bool:
        """Does the word belong to the language?"""
        return self.dfa.accepts(word)


def log_depth(
    dfa: DFA, text: str, max_length: int | None = None, may_count: bool = False
) -> LogDepth:
    """The language of an automaton, to be computed in logarithmic depth."""
    return LogDepth(minimal(dfa), text, max_length, may_count)


def rounds_of(max_length: int) -> int:
    """How often 1 is doubled to reach the length: ⌈log₂ N⌉."""
    return (max_length - 1).bit_length()


def check_same(symbols: Sequence[str], alphabet: Sequence[str]) -> None:
    """A model's symbols are those of its language, in any order."""
    if set(symbols) != set(alphabet):
        raise SofthatError(
            "the model's alphabet must be the language's: "
            f"{' '.join(alphabet)}, not {' '.join(symbols)}"
        )


def doubled(
    language: LogDepth,
    symbols: Sequence[str],
    max_length: int,
    shifts: bool = False,
    outputs: Mapping[str, frozenset[int]] | None = None,
) -> Program:
    """The attention program of Theorem 37 for words up to `max_length`, over `symbols`. With
    `shifts` a round reads by `Shift`, a head that stock decoders have for every distance.
    `outputs` name sets of states: is the state after the prefix among them?"""
    dfa = language.dfa
    if not isinstance(max_length, int) or not 1 <= max_length <= MOST_LENGTH:
        raise SofthatError(f"max_length is from 1 to {MOST_LENGTH:,}, not {max_length!r}")
    check_same(symbols, dfa.alphabet)
    rounds = rounds_of(max_length)
    states, digits = len(dfa.step), (len(dfa.step) - 1).bit_length()
    conjunctions = rounds * states * states * (digits + 1)
    if conjunctions > MOST_CONJUNCTIONS:
        raise SofthatError(
            f"{states:,} states in {rounds} rounds need {conjunctions:,} conjunctions, and "
            f"{MOST_CONJUNCTIONS:,} is the limit: use a smaller automaton or a shorter length"
        )
    # The last round computes one bit: it is small.
    parameters = 3 * (rounds - 1) * 2 * states * digits * states * states * (digits + 1)
    if parameters > MOST_PARAMETERS:
        raise SofthatError(
            f"{states:,} states in {rounds} rounds need up to {parameters:,} parameters, and "
            f"{MOST_PARAMETERS:,} is the limit: use a smaller automaton or a shorter length"
        )
    ends = {MEMBER: dfa.accepting} if outputs is None else outputs
    return _Doubling(Draft(symbols), dfa, ends, digits, rounds, max_length, shifts).run()


@dataclass(slots=True)
class _Function:
    """f_k at a position: the digits of every state's image, and whether each output has it."""

    digits: list[list[Literal]]
    ends: dict[str, list[Literal]]


@dataclass(slots=True)
class _Doubling:
    draft: Draft
    dfa: DFA
    outputs: Mapping[str, frozenset[int]]
    digits: int
    rounds: int
    max_length: int
    shifts: bool
    codes: list[tuple[tuple[Literal, ...], tuple[Literal, ...]]] = field(default_factory=list)
    """Of each round what it asks for, and what keys have."""

    def run(self) -> Program:
        function = self._of_symbols()
        for k in range(self.rounds):
            function = self._composed(function, k)
        return self.draft.finish({name: ends[0] for name, ends in function.ends.items()})

    def _of_symbols(self) -> _Function:
        """f_0: a function of the symbol."""
        draft, dfa = self.draft, self.dfa

        def where(holds: Sequence[bool]) -> Literal:
            pairs = zip(dfa.alphabet, holds, strict=True)
            return draft.token([symbol for symbol, yes in pairs if yes])

        return _Function(
            [[where([bool(to >> b & 1) for to in row]) for b in range(self.digits)]
             for row in dfa.step],
            {name: [where([to in states for to in row]) for row in dfa.step]
             for name, states in self.outputs.items()},
        )  # fmt: skip

    def _composed(self, function: _Function, k: int) -> _Function:
        """f_(k+1) of f_k. Of the last round only where state 0 ends is needed, which `Draft.finish`
        finds out."""
        before = [[self._read(bit, k, f"from {p} bit {b}") for b, bit in enumerate(row)]
                  for p, row in enumerate(function.digits)]  # fmt: skip
        return _Function(
            [[self._chosen(at, [row[b] for row in function.digits], f"{k + 1}: {p} bit {b}")
              for b in range(self.digits)] for p, at in enumerate(before)],
            {name: [self._chosen(at, ends, f"{k + 1}: {p} {self._said(name)}")
                    for p, at in enumerate(before)] for name, ends in function.ends.items()},
        )  # fmt: skip

    @staticmethod
    def _said(output: str) -> str:
        return "accepts" if output == MEMBER else f"allows {output}"

    def _read(self, value: Literal, k: int, label: str) -> Literal:
        """`value` at i - 2^k, 0 where that is no position."""
        if value == FALSE:
            return FALSE
        if self.shifts:
            head = Shift(value, 1 << k, "past") if k else Previous(value, "past")
            return self.draft.add(head, f"{1 << k} before: {label}")
        queries, keys = self._codes(k)
        return self.draft.add(
            At(queries, keys, value, "<=", self.max_length), f"{1 << k} before: {label}"
        )

    def _codes(self, k: int) -> tuple[tuple[Literal, ...], tuple[Literal, ...]]:
        """What round k asks for at i, and what keys have.

        The code of position j is c(j) = 2^K - j, which is from 0 to 2^K - 1 for all of them. The
        query of round k is q_k(i): the code of i - 2^k if that is a position, and else
        c(i) mod 2^k, the code of 2^K - 2^k + i, which the mask hides, or of no position.

        Below digit k that is c(i) in both cases. From digit k on q_0 is c(i) + 1 without digit K,
        and q_(k+1)(i) is what round k reads of q_k: c(i - 2^k) + 2^k = c(i) + 2^(k+1) where
        i > 2^(k+1), else 0. So a round has K digits of its own, which the one before it leaves
        there: the queries of all rounds would be K² / 2 digits.
        """
        if not self.codes:
            length = max(2, self.rounds)  # a code of one digit leaves no room for the sinks' score
            keys, moved = (tuple([self._digit(b, (1 << length) + by) for b in range(length)])
                           for by in (0, 1))  # fmt: skip
            self.codes.append((moved, keys))
        while len(self.codes) <= k:
            before = len(self.codes) - 1
            queries, keys = self.codes[before]
            upper = [self._read(digit, before, f"digit {b} of the query")
                     for b, digit in enumerate(queries) if b > before]  # fmt: skip
            self.codes.append(((*keys[: before + 1], *upper), keys))
        return self.codes[k]

    def _digit(self, bit: int, constant: int) -> Literal:
        label = f"digit {bit} of {constant} - i"
        return self.draft.add(PositionBit(bit, -1, 0, constant), label)

    def _chosen(self, state: list[Literal], of: list[Literal], label: str) -> Literal:
        """`of[r]`, where r is the state with these binary digits."""
        rows = ((*spelled(state, r), value) for r, value in enumerate(of))
        return self.draft.table(possible(rows), label)
