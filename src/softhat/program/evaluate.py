"""Exact evaluation of an attention program: what its heads compute with hard attention.

Bits are Boolean arrays and numeric heads are integers or fractions, so nothing is
rounded. This is the reference that soft heads are compared with, signal by signal.
"""

from __future__ import annotations

from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.io.errors import SofthatError
from softhat.numbers.predicates import column
from softhat.program import heads, inputs
from softhat.program.gates import And, Steps, Table, Total, Xor
from softhat.program.literals import Literal
from softhat.program.signals import Program, Signal

Bits = NDArray[np.bool_]


def evaluate(program: Program, encoded: NDArray[Any]) -> list[NDArray[Any]]:
    """The value of every signal at every position.

    Bits; for `Average` the integer sum that it is the mean of, for `Width` the number of selected
    positions, for `Total` the integer, for `MatchMean` the mean as a fraction.
    """
    return _Evaluation(program, encoded).run()


def outputs(program: Program, encoded: NDArray[Any]) -> dict[str, Bits]:
    """The truth of each output at every position."""
    evaluation = _Evaluation(program, encoded)
    evaluation.run()
    return {name: evaluation.literal(literal) for name, literal in program.outputs}


def numbers(program: Program, encoded: NDArray[Any]) -> dict[str, list[Fraction]]:
    """The value of each numeric output at every position."""
    evaluation = _Evaluation(program, encoded)
    evaluation.run()
    result = {}
    for name, number in program.numbers:
        rows = [evaluation.fractions(read) for read in number.reads]
        factors = [a for a, _ in number.terms]
        result[name] = [
            number.constant + sum(map(mul, factors, values), Fraction(0))
            for values in zip(*rows, strict=True)
        ] or [number.constant] * len(encoded)
    return result


class _Evaluation:
    def __init__(self, program: Program, encoded: NDArray[Any]) -> None:
        self.program = program
        self.encoded = encoded
        self.n = len(encoded)
        self.position = np.arange(1, self.n + 1)
        self.values: list[NDArray[Any]] = []

    def run(self) -> list[NDArray[Any]]:
        for at, signal in enumerate(self.program.signals):
            self.values.append(self._signal(at, signal))
        return self.values

    def literal(self, literal: Literal) -> Bits:
        if literal.signal < 0:
            return np.full(self.n, literal.positive)
        value: Bits = self.values[literal.signal]
        return value if literal.positive else ~value

    def fractions(self, at: int) -> list[Fraction]:
        """What a signal returns, as numbers."""
        signal, values = self.program.signals[at], self.values[at].tolist()
        match signal:
            case heads.Average(range="past"):
                return [Fraction(value, i + 1) for i, value in enumerate(values, start=1)]
            case heads.Average(range="future"):
                return [Fraction(value, self.n + 1 - i) for i, value in enumerate(values)]
            case heads.Average():
                return [Fraction(value, self.n + 2) for value in values]
            case heads.Width():
                return [Fraction(1, 1 + value) for value in values]
            case _:
                return [Fraction(value) for value in values]

    def _signal(self, at: int, signal: Signal) -> NDArray[Any]:
        match signal:
            case inputs.TokenIn(symbols):
                places = [self.program.symbols.index(symbol) for symbol in symbols]
                if self.program.propositional:
                    return np.asarray(self.encoded[:, places[0]], dtype=np.bool_)
                return np.isin(self.encoded, places)
            case inputs.FirstPosition():
                return self.position == 1
            case inputs.LastPosition():
                return self.position == self.n
            case inputs.PositionMod(modulus, remainder):
                # No word has 2^62 positions, and 64 bits hold no larger numbers.
                return self.position % min(modulus, 1 << 62) == min(remainder, 1 << 62)
            case inputs.PositionIn(predicate):
                return column(predicate, self.position, self.n)
            case inputs.PositionAtLeast(coefficient, threshold):
                return np.array([coefficient * i >= threshold for i in self._indices])
            case inputs.PositionBit(bit, position, length, constant):
                number = [max(0, position * i + length * self.n + constant) for i in self._indices]
                return np.array([bool(value >> bit & 1) for value in number])
            case And(literals):
                return np.logical_and.reduce([self.literal(x) for x in literals])
            case Xor(left, right):
                return self.values[left] ^ self.values[right]
            case Table(terms):
                rows = [np.logical_and.reduce([self.literal(x) for x in term]) for term in terms]
                return np.logical_or.reduce(rows)
            case Total(terms, _):
                return sum((a * self.values[read] for a, read in terms), np.zeros(self.n, int))
            case Steps(count, turns):
                passed = np.searchsorted(np.array(turns), self.values[count], side="right")
                return np.asarray(passed % 2 == 1, dtype=np.bool_)
            case heads.Latest(bad, value, direction):
                return _latest(self.literal(bad), self.literal(value), direction)
            case heads.StrictLatest(bad, value, direction):
                latest = _latest(self.literal(bad), self.literal(value), direction)
                return _shifted(latest, 1, direction)
            case heads.Recall(bad, queries, keys, value):
                return _recalled(
                    self.literal(bad),
                    [self.literal(query) for query in queries],
                    [self.literal(key) for key in keys],
                    self.literal(value),
                )
            case heads.Previous(value, direction):
                return _shifted(self.literal(value), 1, direction)
            case heads.Shift(value, distance, direction):
                return _shifted(self.literal(value), distance, direction)
            case heads.Average(terms, over):
                summed = self._sum(terms)
                match over:
                    case "past":
                        return np.cumsum(summed)
                    case "future":
                        return np.cumsum(summed[::-1])[::-1]
                return np.full(self.n, summed.sum())
            case heads.Sign():
                total = signal.position * self.position.astype(object) + signal.length * self.n
                for average in signal.averages:
                    total = total + self.values[average]
                return np.asarray(total >= signal.threshold, dtype=np.bool_)
            case heads.Match(selector, value):
                return self._agreed(self._selected(selector), self.literal(value), at)
            case heads.MatchMean(selector, terms):
                return self._means(self._selected(selector), self._sum(terms))
            case heads.Width(selector):
                return self._selected(selector).sum(axis=1)
            case heads.At(queries, keys, value, mask, _):
                same = _visible(mask, self.n)
                for query, key in zip(queries, keys, strict=True):
                    same &= self.literal(query)[:, None] == self.literal(key)[None, :]
                return self._agreed(same, self.literal(value), at)
        raise TypeError(f"not a signal: {signal!r}")

    @property
    def _indices(self) -> range:
        return range(1, self.n + 1)

    def _sum(self, terms: tuple[tuple[int, int], ...]) -> NDArray[Any]:
        summed = np.zeros(self.n, dtype=object)
        for a, read in terms:
            summed += a * self.literal(Literal(read, True)).astype(object)
        return summed

    def _selected(self, selector: heads.Selector) -> Bits:
        """(query, key): whether i selects j."""
        selected = np.zeros((self.n, self.n), dtype=np.bool_)
        for q, k in selector.table:
            query, key = self.literal(selector.queries[q]), self.literal(selector.keys[k])
            selected |= query[:, None] & key[None, :]
        return selected & _visible(selector.mask, self.n)

    def _agreed(self, selected: Bits, value: Bits, at: int) -> Bits:
        """The value at the selected positions, False where none is."""
        yes: Bits = np.any(selected & value, axis=1)
        no: Bits = np.any(selected & ~value, axis=1)
        if (yes & no).any():
            raise SofthatError(
                f"{self.program.labels[at]}: the selected positions do not agree at position "
                f"{int(np.argmax(yes & no)) + 1}"
            )
        return yes

    def _means(self, selected: Bits, summed: NDArray[Any]) -> NDArray[Any]:
        means = np.zeros(self.n, dtype=object)
        for i, row in enumerate(selected):
            chosen = summed[row]
            means[i] = Fraction(int(chosen.sum()), len(chosen)) if len(chosen) else Fraction(0)
        return means


def _visible(mask: heads.Mask, n: int) -> Bits:
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    seen: dict[heads.Mask, Bits] = {"<=": j <= i, "<": j < i, ">=": j >= i, ">": j > i}
    return seen.get(mask, np.ones((n, n), dtype=np.bool_))


def _latest(bad: Bits, value: Bits, direction: str) -> Bits:
    """`value` at the last position without `bad` (the first to the right), or False."""
    if direction == "future":
        return _latest(bad[::-1], value[::-1], "past")[::-1]
    last = np.maximum.accumulate(np.where(bad, -1, np.arange(len(bad))))
    answers: Bits = (last >= 0) & value[np.maximum(last, 0)]
    return answers


def _recalled(bad: Bits, queries: list[Bits], keys: list[Bits], value: Bits) -> Bits:
    """`value` at the last position without `bad` whose keys are the queries here, or False."""
    asked, held = np.stack(queries, axis=1), np.stack(keys, axis=1)
    last: dict[bytes, np.bool_] = {}
    answers = np.zeros(len(value), dtype=np.bool_)
    for i in range(len(value)):
        if not bad[i]:
            last[held[i].tobytes()] = value[i]
        answers[i] = last.get(asked[i].tobytes(), False)
    return answers


def _shifted(value: Bits, distance: int, direction: str) -> Bits:
    moved = np.zeros(len(value), dtype=np.bool_)
    if distance < len(value):
        if direction == "past":
            moved[distance:] = value[:-distance]
        else:
            moved[:-distance] = value[distance:]
    return moved
