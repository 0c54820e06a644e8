"""Exact evaluation of an attention program: what its heads compute with hard attention.

Bits are Boolean arrays and averages are kept as the integer sums that they are the means of, so
nothing is rounded. This is the reference that soft heads are compared with, signal by signal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.program.signals import (
    And,
    Average,
    FirstPosition,
    LastPosition,
    Latest,
    Literal,
    PositionMod,
    Previous,
    Program,
    Sign,
    TokenIn,
    Xor,
)

Bits = NDArray[np.bool_]


def evaluate(program: Program, encoded: NDArray[Any]) -> list[NDArray[Any]]:
    """The value of every signal at every position: bits, and for averages the integer sums."""
    return _Evaluation(program, encoded).run()


def outputs(program: Program, encoded: NDArray[Any]) -> dict[str, Bits]:
    """The truth of each output at every position."""
    evaluation = _Evaluation(program, encoded)
    evaluation.run()
    return {name: evaluation.literal(literal) for name, literal in program.outputs}


class _Evaluation:
    def __init__(self, program: Program, encoded: NDArray[Any]) -> None:
        self.program = program
        self.encoded = encoded
        self.n = len(encoded)
        self.position = np.arange(1, self.n + 1)
        self.values: list[NDArray[Any]] = []

    def run(self) -> list[NDArray[Any]]:
        for signal in self.program.signals:
            self.values.append(self._signal(signal))
        return self.values

    def literal(self, literal: Literal) -> Bits:
        if literal.signal < 0:
            return np.full(self.n, literal.positive)
        value: Bits = self.values[literal.signal]
        return value if literal.positive else ~value

    def _signal(self, signal: Any) -> NDArray[Any]:
        match signal:
            case TokenIn(symbols):
                places = [self.program.symbols.index(symbol) for symbol in symbols]
                if self.program.propositional:
                    return np.asarray(self.encoded[:, places[0]], dtype=np.bool_)
                return np.isin(self.encoded, places)
            case FirstPosition():
                return self.position == 1
            case LastPosition():
                return self.position == self.n
            case PositionMod(modulus, remainder):
                # No word has 2^62 positions, and 64 bits hold no larger numbers.
                return self.position % min(modulus, 1 << 62) == min(remainder, 1 << 62)
            case And(literals):
                return np.logical_and.reduce([self.literal(x) for x in literals])
            case Xor(left, right):
                return self.values[left] ^ self.values[right]
            case Latest(bad, value, "past"):
                return _latest(self.literal(bad), self.literal(value))
            case Latest(bad, value, _):
                return _latest(self.literal(bad)[::-1], self.literal(value)[::-1])[::-1]
            case Previous(value, direction):
                moved = np.zeros(self.n, dtype=np.bool_)
                if direction == "past":
                    moved[1:] = self.literal(value)[:-1]
                else:
                    moved[:-1] = self.literal(value)[1:]
                return moved
            case Average(terms, over):
                summed = np.zeros(self.n, dtype=object)
                for a, read in terms:
                    bits = self.literal(Literal(read, True))
                    summed += a * bits.astype(object)
                match over:
                    case "past":
                        return np.cumsum(summed)
                    case "future":
                        return np.cumsum(summed[::-1])[::-1]
                return np.full(self.n, summed.sum())
            case Sign():
                total = signal.position * self.position.astype(object) + signal.length * self.n
                for average in signal.averages:
                    total = total + self.values[average]
                return np.asarray(total >= signal.threshold, dtype=np.bool_)
        raise TypeError(f"not a signal: {signal!r}")


def _latest(bad: Bits, value: Bits) -> Bits:
    """`value` at the last position without `bad`, or False."""
    last = np.maximum.accumulate(np.where(bad, -1, np.arange(len(bad))))
    found: Bits = (last >= 0) & value[np.maximum(last, 0)]
    return found
