"""Signals that are equal on sample words, and then proved equal.

Where a whole formula is too large to follow at once, it is followed operator by operator: a helper
that behaves like a signal of the program on sample words is proved to be equal to it, with what few
signals both rest on, and is known by that signal from then on.
"""

from __future__ import annotations

import numpy as np

from softhat.export.coq.matcher import Matcher
from softhat.export.coq.reasons import Reasons
from softhat.program.evaluate import evaluate
from softhat.program.heads import Average
from softhat.program.literals import FALSE, TRUE, Literal
from softhat.program.signals import Program

_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 24, 30)
_MOST_TRIED = 4


class Sweep:
    """Representatives of functions: the first literal with the same values on every word."""

    def __init__(self, matcher: Matcher, reasons: Reasons, program: Program) -> None:
        self.matcher, self.reasons, self.program = matcher, reasons, program
        rng = np.random.default_rng(0)
        count = len(program.symbols)
        shapes = ((n, count) if program.propositional else (n,) for n in _LENGTHS * 2)
        most = 2 if program.propositional else count
        self._words = [rng.integers(most, size=shape) for shape in shapes]
        if program.propositional:
            self._words = [word.astype(np.bool_) for word in self._words]
        self._candidates: dict[bytes, list[Literal]] = {}
        self._representative: dict[int, int] = {}
        size = sum(len(word) for word in self._words)
        for literal in (TRUE, FALSE):
            self._candidates[np.full(size, literal.positive).tobytes()] = [literal]
        for at, values in enumerate(self._values()):
            if not isinstance(matcher.signals[at], Average) and at < matcher.own:
                self._remember(values, Literal(at, True))

    def __call__(self, function: int) -> int:
        """The function by which another is known."""
        if function not in self._representative:
            self._representative[function] = self._find(function)
        return self._representative[function]

    def _find(self, function: int) -> int:
        literal = self.matcher.literal(function)
        if literal.signal < 0:
            return function
        values = self._values()[literal.signal] == literal.positive
        for other in self._candidates.get(values.tobytes(), ())[:_MOST_TRIED]:
            if self.matcher.of(other) == function or self.reasons.equal(literal, other):
                return self.matcher.of(other)
        self._remember(values, literal)
        return function

    def _remember(
        self, values: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], x: Literal
    ) -> None:
        self._candidates.setdefault(values.tobytes(), []).append(x)
        self._candidates.setdefault((~values).tobytes(), []).append(~x)

    def _values(self) -> list[np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
        """Every signal on all sample words, one after the other."""
        signals = tuple(self.matcher.signals)
        labels = ("",) * len(signals)
        program = Program(signals, labels, (), self.program.symbols, self.program.propositional)
        runs = [evaluate(program, word) for word in self._words]
        return [np.concatenate([run[at] for run in runs]) for at in range(len(signals))]
