"""A program in the making: signals found again by their data, gates in canonical form.

Constants and trivial gates vanish here, functions of the symbol alone become one input bit, and
what no output needs is left out in the end. Every front end drafts its programs with this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from softhat.logic.syntax import nodes
from softhat.logic.syntax.print import to_short
from softhat.logic.syntax.tokens import quote
from softhat.program.gates import And, Table, Xor
from softhat.program.heads import Direction
from softhat.program.inputs import FirstPosition, LastPosition, TokenIn
from softhat.program.literals import FALSE, TRUE, Literal
from softhat.program.signals import Number, Program, Signal, moved, with_all_read

LABEL_LIMIT = 60
FLATTEN_LIMIT = 64
"""A gate that others use too is copied into its consumer up to this many literals."""


class Draft:
    """The signals so far, over words of `symbols` (in propositional mode, of sets of them)."""

    def __init__(self, symbols: Sequence[str], propositional: bool = False) -> None:
        self.symbols = tuple(symbols)
        self.propositional = propositional
        self.everything = frozenset(self.symbols)
        self.rank = {symbol: place for place, symbol in enumerate(self.symbols)}
        self.signals: list[Signal] = []
        self.labels: list[str] = []
        self._index: dict[Signal, int] = {}

    @staticmethod
    def of(program: Program) -> Draft:
        """A draft that begins with a program's signals, in their order."""
        draft = Draft(program.symbols, program.propositional)
        for signal, label in zip(program.signals, program.labels, strict=True):
            draft.add(signal, label)
        return draft

    def add(self, signal: Signal, label: str) -> Literal:
        """A signal, new or found again."""
        at = self._index.get(signal)
        if at is None:
            at = self._index[signal] = len(self.signals)
            self.signals.append(signal)
            self.labels.append(label)
        return Literal(at, True)

    def signal(self, literal: Literal) -> Signal | None:
        """The signal behind a literal; None for a constant."""
        return self.signals[literal.signal] if literal.signal >= 0 else None

    # Functions of the symbol

    def token(self, symbols: Iterable[str]) -> Literal:
        """The symbol is one of these. Of a set and its complement the smaller becomes a signal."""
        chosen = frozenset(symbols)
        if not chosen:
            return FALSE
        ordered = tuple(sorted(chosen, key=self.rank.__getitem__))
        if self.propositional:
            return self.add(TokenIn(ordered), ordered[0])
        if chosen == self.everything:
            return TRUE
        rest = tuple([s for s in self.symbols if s not in chosen])
        less = len(rest) - len(ordered)
        negated = less < 0 or (less == 0 and self.symbols[0] not in chosen)
        smaller = TokenIn(rest if negated else ordered)
        known = self._index.get(smaller)
        bit = (
            self.add(smaller, _symbols_label(smaller.symbols))
            if known is None
            else Literal(known, True)
        )
        return ~bit if negated else bit

    def _set_of(self, signal: TokenIn, positive: bool) -> frozenset[str]:
        chosen = frozenset(signal.symbols)
        return chosen if positive else self.everything - chosen

    # Gates

    def conjunction(self, literals: Iterable[Literal], label: str) -> Literal:
        """And: flattened, without duplicates, token bits merged, constants folded."""
        flat: dict[Literal, None] = {}
        allowed = self.everything
        for literal in self._flattened(literals):
            if literal == FALSE or ~literal in flat:
                return FALSE
            signal = self.signal(literal)
            if isinstance(signal, TokenIn) and not self.propositional:
                allowed &= self._set_of(signal, literal.positive)
            elif literal != TRUE:
                flat[literal] = None
        if allowed != self.everything:
            token = self.token(allowed)
            if token == FALSE:
                return FALSE
            flat[token] = None
        if len(flat) < 2:
            return next(iter(flat), TRUE)
        return self.add(And(tuple(sorted(flat))), label)

    def disjunction(self, literals: Iterable[Literal], label: str) -> Literal:
        """Or, as the negation of the And of the negations."""
        return ~self.conjunction([~literal for literal in literals], f"!({label})")

    def _flattened(self, literals: Iterable[Literal]) -> list[Literal]:
        flat: list[Literal] = []
        for literal in literals:
            signal = self.signal(literal)
            if (
                isinstance(signal, And)
                and literal.positive
                and len(signal.literals) <= FLATTEN_LIMIT
            ):
                flat.extend(signal.literals)  # itself flat
            else:
                flat.append(literal)
        return flat

    def xor(self, f: Literal, g: Literal, label: str) -> Literal:
        """Exactly one of two literals holds."""
        if f.signal < 0:
            return ~g if f == TRUE else g
        if g.signal < 0:
            return ~f if g == TRUE else f
        if f.signal == g.signal:
            return FALSE if f.positive == g.positive else TRUE
        left, right = self.signals[f.signal], self.signals[g.signal]
        if isinstance(left, TokenIn) and isinstance(right, TokenIn) and not self.propositional:
            return self.token(self._set_of(left, f.positive) ^ self._set_of(right, g.positive))
        negated = f.positive != g.positive
        first, second = sorted((f.signal, g.signal))
        gate = self.add(Xor(first, second), f"!({label})" if negated else label)
        return ~gate if negated else gate

    def table(self, rows: Iterable[tuple[Literal, ...]], label: str) -> Literal:
        """One of these conjunctions holds, of which no two ever do."""
        listed = tuple(rows)
        if len(listed) == 1:
            return self.conjunction(listed[0], label)
        if () in listed:
            return TRUE
        return self.add(Table(listed), label) if listed else FALSE

    def edge(self, direction: Direction) -> Literal:
        """There is no position further on in this direction."""
        if direction == "past":
            return self.add(FirstPosition(), "first")
        return self.add(LastPosition(), "last")

    def finish(
        self, outputs: Mapping[str, Literal], numbers: Mapping[str, Number] | None = None
    ) -> Program:
        """The program of the signals that some output needs."""
        numbers = numbers or {}
        asked = [literal.signal for literal in outputs.values()]
        asked += [read for number in numbers.values() for read in number.reads]
        used = sorted(with_all_read(self.signals, asked))
        if len(used) == len(self.signals):
            signals, labels = self.signals, self.labels
        else:
            places = {-1: -1} | {at: place for place, at in enumerate(used)}
            signals = [moved(self.signals[at], places) for at in used]
            labels = [self.labels[at] for at in used]
            outputs = {name: literal.moved(places) for name, literal in outputs.items()}
            numbers = {name: number.moved(places) for name, number in numbers.items()}
        return Program(
            tuple(signals),
            tuple(labels),
            tuple(outputs.items()),
            self.symbols,
            self.propositional,
            tuple(numbers.items()),
        )


def only(program: Program, *names: str) -> Program:
    """The part of a program that some of its outputs need."""
    outputs = dict(program.outputs)
    return Draft.of(program).finish({name: outputs[name] for name in names})


def _symbols_label(symbols: tuple[str, ...]) -> str:
    text = " | ".join(
        quote(s) if len(s) < LABEL_LIMIT // 2 else to_short(nodes.Symbol(s), LABEL_LIMIT)
        for s in symbols[:8]
    )
    return text if len(symbols) <= 8 else f"{text} | … ({len(symbols)} symbols)"
