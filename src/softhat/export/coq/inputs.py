"""What a position knows of itself: the inputs of a program as Coq numbers them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from softhat.export.coq.syntax import integer
from softhat.io.errors import SofthatError
from softhat.logic.syntax import nodes
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.walk import distinct
from softhat.numbers.predicates import Predicate
from softhat.program.inputs import (
    FirstPosition,
    LastPosition,
    PositionBit,
    PositionIn,
    PositionMod,
    TokenIn,
)
from softhat.program.signals import Program, Signal
from softhat.transformer.weights import Transformer


@dataclass
class Inputs:
    """The numbers of symbols, numerical predicates and inputs (`Given 0`, `Given 1`, …)."""

    symbols: dict[str, int]
    propositional: bool
    predicates: dict[Predicate, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    """The inputs, as Coq writes them, in order."""

    def number(self, signal: Signal) -> int:
        """Which `Given` an input signal is; a new one if need be."""
        return self._number(self.text(signal))

    def _number(self, text: str) -> int:
        return self.known.setdefault(text, len(self.known))

    def predicate(self, predicate: Predicate) -> int:
        return self.predicates.setdefault(predicate, len(self.predicates))

    def text(self, signal: Signal) -> str:
        """An input as `proofs/Surface.v` writes it."""
        match signal:
            case TokenIn((proposition,)) if self.propositional:
                return f"(InSymbol {self.symbols[proposition]})"
            case FirstPosition():
                return "InFirst"
            case LastPosition():
                return "InLast"
            case PositionMod(modulus, remainder):
                return f"(InMod {modulus} {remainder})"
            case PositionIn(predicate):
                return f"(InAt {self.predicate(predicate)})"
            case PositionBit(bit, position, length, constant):
                numbers = " ".join(map(integer, (position, length, constant)))
                return f"(InDigit {bit} {numbers})"
        raise TypeError(f"no input of a formula: {signal!r}")


def inputs_of(weights: Transformer, program: Program, formulas: Iterable[Formula]) -> Inputs:
    """All inputs that the program has or the formulas speak of. Symbols have the numbers of their
    rows in the embedding: what the file calls `a` is what the weights take for it."""
    if set(program.symbols) != set(weights.symbols):
        raise SofthatError("the weights and the program have other symbols: no file is written")
    symbols = {symbol: at for at, symbol in enumerate(weights.symbols)}
    inputs = Inputs(symbols, program.propositional)
    for signal in program.signals:
        if is_given(signal, program.propositional):
            inputs.number(signal)
    for formula in formulas:
        for node, _ in distinct(formula)[0]:
            signal_of_node = input_of(node, program.propositional)
            if signal_of_node is not None:
                inputs.number(signal_of_node)
    inputs.number(FirstPosition())
    inputs.number(LastPosition())
    return inputs


def is_given(signal: Signal, propositional: bool) -> bool:
    """Is it an input that is not a set of symbols?"""
    if isinstance(signal, TokenIn):
        return propositional
    return isinstance(signal, FirstPosition | LastPosition | PositionMod | PositionIn | PositionBit)


def input_of(node: nodes.Node, propositional: bool) -> Signal | None:
    """The input that a leaf of a formula is, unless it is a symbol of an alphabet."""
    match node:
        case nodes.Symbol(name) if propositional:
            return TokenIn((name,))
        case nodes.First():
            return FirstPosition()
        case nodes.Last():
            return LastPosition()
        case nodes.Mod(modulus, remainder) if modulus > 1:
            return PositionMod(modulus, remainder)
        case nodes.At(predicate):
            return PositionIn(predicate)
    return None
