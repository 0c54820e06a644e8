"""The situations that words lead to.

A *situation* is the values of all signals of a cone at one position. Between two positions lies a
*cut*: of every pair along the way the word is read, the signal behind the cut; of the others the
one ahead of it. Nothing else passes a cut. So the cuts that words lead to can be enumerated, and of
those the ones from which the other end of a word can be reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softhat.export.coq.cones import LETTER, OPPOSITE, Bools, Cone, ConeOpenError, Fact, value_of
from softhat.program.inputs import TokenIn

Codes = NDArray[np.int64]

MOST_ROWS = 1 << 20
"""Values of situations that are looked at before the question is left open: Coq looks at each."""


@dataclass(frozen=True)
class CutSituations:
    """All situations after some cuts: the cuts on both sides, the end of a word, the goal."""

    before: Codes
    after: Codes
    last: Bools
    differ: Bools
    """The two literals do not agree."""


class Walk:
    """The words that are read along a cone's way."""

    def __init__(self, cone: Cone, facts: Sequence[Fact]) -> None:
        self.cone, self.way = cone, cone.way
        self.first = cone.edges[self.way]
        self.last = cone.edges.get(OPPOSITE[self.way])
        self.moved = [
            pair.beside if pair.direction == self.way else cone.beside(pair.beside, self.way)
            for pair in cone.pairs
        ]
        """What a position knows of the cut before it."""
        self.order = [at for at in cone.order() if at not in self.moved and at != self.first]
        if self.last is not None:
            self.order = [self.last, *(at for at in self.order if at != self.last)]
        known = {self.first, *self.moved}
        self.checks: dict[int, list[Fact]] = {}
        for fact in facts:
            if fact.holds is not None:
                latest = [at for at in self.order if at in fact.about - known]
                self.checks.setdefault(latest[-1] if latest else LETTER, []).append(fact)
        self.letters = self._letters()
        self.spent = 0

    def _letters(self) -> Bools:
        """The values of the sets of symbols, for each symbol that differs from others in them."""
        if not self.cone.tokens:
            return np.zeros((1, 0), np.bool_)
        signals = [self.cone.matcher.signals[at] for at in self.cone.tokens]
        rows = [
            [isinstance(s, TokenIn) and name in s.symbols for s in signals]
            for name in self.cone.matcher.space.rank
        ]
        return np.unique(np.array(rows, np.bool_), axis=0)

    def situations(self, cuts: Codes | None) -> CutSituations:
        """All situations after these cuts; at the first position, where there are none."""
        start = np.zeros(1, np.int64) if cuts is None else cuts
        values = {at: (start >> k & 1).astype(np.bool_) for k, at in enumerate(self.moved)}
        values[self.first] = np.full(len(start), cuts is None)
        for at in self.order:
            values = self._decided(values, at)
        size = len(values[self.first])
        left, right = (value_of(x, values, self.first) for x in self.cone.goal)
        return CutSituations(
            self._code(values, size, ahead=False),
            self._code(values, size, ahead=True),
            np.zeros(size, np.bool_) if self.last is None else values[self.last],
            left ^ right,
        )

    def _decided(self, values: dict[int, Bools], at: int) -> dict[int, Bools]:
        """Both values of one more signal, where facts allow them."""
        rows = len(values[self.first])
        if at == LETTER:
            count = len(self.letters)
            values = {s: np.repeat(column, count) for s, column in values.items()}
            for k, token in enumerate(self.cone.tokens):
                values[token] = np.tile(self.letters[:, k], rows)
        elif at not in values:
            values = {s: np.concatenate([column, column]) for s, column in values.items()}
            values[at] = np.repeat([False, True], rows)
        possible = np.ones(len(values[self.first]), np.bool_)
        self.spent += len(possible)
        if self.spent > MOST_ROWS:
            raise ConeOpenError
        for fact in self.checks.get(at, ()):
            assert fact.holds is not None
            possible &= fact.holds(values)
        return {s: column[possible] for s, column in values.items()}

    def _code(self, values: dict[int, Bools], size: int, ahead: bool) -> Codes:
        """The cut after a position, or the one before it."""
        code = np.zeros(size, np.int64)
        for k, pair in enumerate(self.cone.pairs):
            own = (pair.direction == self.way) == ahead
            code |= values[pair.signal if own else pair.beside].astype(np.int64) << k
        return code

    def reached(self) -> Codes:
        """The cuts that words lead to, from the first position on."""
        fresh = np.unique(self.situations(None).after)
        known = fresh
        while len(fresh):
            fresh = np.setdiff1d(self.situations(fresh).after, known)
            known = np.union1d(known, fresh)
        return known

    def ending(self, every: Sequence[CutSituations]) -> Codes:
        """The cuts from which the other end of a word can be reached."""
        known = np.zeros(0, np.int64)
        while True:
            reaching = [s.before[s.last | np.isin(s.after, known)] for s in every]
            more = np.unique(np.concatenate(reaching))
            if len(more) == len(known):
                return known
            known = more
