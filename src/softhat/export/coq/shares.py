"""What each position adds to a comparison of counts, and the least that it can be.

A linear form is a sum over the positions of a word: one amount for those before position i, one for
i itself, one for those after it. As `proofs/Tallies.v` has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from softhat.export.coq.cones import LETTER, Bools, ConeOpenError, value_of
from softhat.export.coq.matcher import Matcher
from softhat.program.counting import CountingTerm
from softhat.program.gates import And, Xor
from softhat.program.inputs import TokenIn
from softhat.program.signals import reads

MOST_ROWS = 1 << 12


@dataclass(frozen=True)
class CountShare:
    """Σ a·signal + each, at one position."""

    parts: Mapping[int, int]
    each: int

    def less(self, other: CountShare) -> CountShare:
        parts = dict(self.parts)
        for signal, a in other.parts.items():
            parts[signal] = parts.get(signal, 0) - a
        return CountShare(parts, self.each - other.each)

    @property
    def used(self) -> list[int]:
        return sorted(signal for signal, a in self.parts.items() if a)

    def amount(self, values: Mapping[int, bool]) -> int:
        return self.each + sum(a for s, a in self.parts.items() if a and values[s])


@dataclass(frozen=True)
class Shares:
    """What positions behind, at and ahead of a position add to a form; the rest is a constant."""

    behind: CountShare
    here: CountShare
    ahead: CountShare
    constant: int


def shares_of(form: CountingTerm) -> Shares:
    sides: dict[str, dict[int, int]] = {"past": {}, "here": {}, "future": {}}
    for (over, signal), a in form.counts.items():
        for side, parts in sides.items():
            if over == "total" or side in ("here", over):
                parts[signal] = parts.get(signal, 0) + a
    ahead = form.length
    here = form.position + form.length
    return Shares(
        CountShare(sides["past"], here),
        CountShare(sides["here"], here),
        CountShare(sides["future"], ahead),
        form.constant,
    )


class LocalShare:
    """Signals at one position: what sets of symbols and gates say of them, and nothing else."""

    def __init__(self, matcher: Matcher, signals: Iterator[int] | list[int]) -> None:
        self.tokens: list[int] = []
        self.leaves: list[int] = []
        self.gates: list[int] = []
        todo, seen = list(signals), set[int]()
        while todo:
            at = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            match matcher.signals[at]:
                case TokenIn() if not matcher.space.propositional:
                    self.tokens.append(at)
                case And() | Xor() as gate:
                    self.gates.append(at)
                    todo += reads(gate)
                case _:
                    self.leaves.append(at)
        self.gates.sort()
        letters = len(matcher.space.rank) if self.tokens else 1
        if letters << len(self.leaves) > MOST_ROWS:
            raise ConeOpenError
        self.values = self._rows(matcher, letters)

    @property
    def order(self) -> list[int]:
        letter = [LETTER] if self.tokens else []
        return [*letter, *self.tokens, *self.leaves, *self.gates]

    def definition(self, at: int) -> list[str]:
        """The reason for what a signal is here, if it is not free."""
        if at in self.tokens:
            return [f"Reads {at}"]
        return [f"Joins {at}"] if at in self.gates else []

    def _rows(self, matcher: Matcher, letters: int) -> dict[int, Bools]:
        names = list(matcher.space.rank)
        size = letters << len(self.leaves)
        row = np.arange(size)
        values = {
            at: (row // letters >> k & 1).astype(np.bool_) for k, at in enumerate(self.leaves)
        }
        for at in self.tokens:
            signal = matcher.signals[at]
            assert isinstance(signal, TokenIn)
            held = np.array([name in signal.symbols for name in names], np.bool_)
            values[at] = held[row % letters]
        values[LETTER] = np.zeros(size, np.bool_)
        for at in self.gates:
            match matcher.signals[at]:
                case And(literals):
                    columns = [value_of(x, values, LETTER) for x in literals]
                    values[at] = np.logical_and.reduce(columns)
                case Xor(left, right):
                    values[at] = values[left] ^ values[right]
        return values

    def least(self, share: CountShare, where: Mapping[int, bool]) -> int | None:
        """The least amount where some signals have given values; None if that is nowhere."""
        total = np.full(len(self.values[LETTER]), share.each)
        for signal, a in share.parts.items():
            total = total + a * self.values[signal]
        possible = np.ones(len(total), np.bool_)
        for signal, value in where.items():
            possible &= self.values[signal] == value
        return int(total[possible].min()) if possible.any() else None

    def valuations(self, signals: list[int]) -> list[dict[int, bool]]:
        """The values that some signals have together."""
        if not signals:
            return [{}]
        rows = np.unique(np.stack([self.values[s] for s in signals], axis=1), axis=0)
        return [dict(zip(signals, map(bool, row), strict=True)) for row in rows]


def guard_text(where: Mapping[int, bool]) -> str:
    text = "Yes"
    for signal, value in where.items():
        literal = f"(Sig {signal})" if value else f"(Neg (Sig {signal}))"
        text = literal if text == "Yes" else f"(Both {literal} {text})"
    return text
