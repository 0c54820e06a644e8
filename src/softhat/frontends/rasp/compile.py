"""RASP program to attention program, s-op by s-op.

Everything that is said of an s-op is said of all sequences over the alphabet up to `max_length`:
the program is exact there, and no sequence is enumerated. What cannot be compiled is refused with
the name of the s-op and the reason.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

from softhat.frontends.rasp import language
from softhat.frontends.rasp.attending import DisagreementError, aggregate, width
from softhat.frontends.rasp.conditions import All, Condition, Opposite, Some
from softhat.frontends.rasp.evaluate import children_first, evaluate
from softhat.frontends.rasp.expressions import RASPExpr
from softhat.frontends.rasp.language import SOp
from softhat.frontends.rasp.maps import joined, mapped
from softhat.frontends.rasp.operations import Value
from softhat.frontends.rasp.outputs import Decoder, output
from softhat.frontends.rasp.selecting import select
from softhat.frontends.rasp.values import CountForm, Known, exact, tagged
from softhat.frontends.rasp.workshop import RaisesError, Workshop
from softhat.io.errors import RaspError, SofthatError
from softhat.program.draft import Draft
from softhat.program.literals import TRUE
from softhat.program.signals import Program

MOST_LENGTH = 65_536


@dataclass(frozen=True, slots=True)
class Compiled:
    """An attention program whose outputs `decoder` reads as the values of a RASP program."""

    program: Program
    alphabet: tuple[Value, ...]
    """The tokens, in the order of the program's symbols."""
    decoder: Decoder
    max_length: int
    causal: bool


def compile_rasp(
    program: SOp, alphabet: Sequence[Value], max_length: int, causal: bool = False
) -> Compiled:
    """The attention program of a RASP program, for sequences up to `max_length`."""
    if not isinstance(program, SOp):
        raise RaspError(f"a RASP program is an s-op, not {program!r}")
    if not isinstance(max_length, int) or not 1 <= max_length <= MOST_LENGTH:
        raise RaspError(f"max_length is from 1 to {MOST_LENGTH:,}, not {max_length!r}")
    tokens, symbols = tokens_and_symbols(alphabet)
    draft = Draft(symbols)
    shop = Workshop(draft, max_length, causal)
    known = _Compiler(shop, tokens).run(program)
    shop.at = program
    decoder, asked = output(shop, known, language.is_numerical(program))
    return Compiled(draft.finish(asked.bits, asked.numbers), tokens, decoder, max_length, causal)


def tokens_and_symbols(alphabet: Sequence[Value]) -> tuple[tuple[Value, ...], tuple[str, ...]]:
    """The tokens, and the symbols that a program has for them."""
    tokens = tuple(alphabet)
    if not tokens:
        raise SofthatError("the alphabet is empty: give at least one token")
    for token in tokens:
        if not isinstance(token, Hashable) or token is None:
            raise SofthatError(f"a token is a hashable value and not None, not {token!r}")
    if len({tagged(token) for token in tokens}) < len(tokens):
        raise SofthatError("the alphabet has a token twice")
    names = [token if isinstance(token, str) else repr(token) for token in tokens]
    if len(set(names)) < len(names):  # 1 and "1"
        names = [repr(token) for token in tokens]
    return tokens, tuple(names)


@dataclass(frozen=True, slots=True)
class _Compiler:
    """One step for each kind of expression."""

    shop: Workshop
    alphabet: tuple[Value, ...]

    def run(self, program: SOp) -> Known:
        """Equal expressions are compiled once; names do not tell them apart."""
        same: dict[Any, Any] = {}
        numbers: dict[int, int] = {}
        results: list[Any] = []
        for node in children_first(program):
            self.shop.at = node
            below = [numbers[id(child)] for child in node.children]
            key = (_identity(node), tuple(below))
            if key not in same:
                same[key] = len(results)
                results.append(self.checked(node, [results[k] for k in below]))
            numbers[id(node)] = same[key]
        known: Known = results[numbers[id(program)]]
        return known

    def checked(self, node: RASPExpr, below: list[Any]) -> Known | Condition:
        """A step; what raises is refused with a sequence on which it does."""
        try:
            known = self.step(node, below)
        except RaisesError as error:
            word = self.raising(node)
            shown = (
                f". It does on {word!r}"
                if word is not None
                else ". No sequence that was tried shows it, but it is not plain that none does"
            )
            raise RaspError(f"{error}{shown}") from None
        doubts, self.shop.doubts = self.shop.doubts, []
        if doubts and (word := self.raising(node)) is not None:
            raise self.shop.fault(f"{doubts[0]}. It does on {word!r}")
        return known

    def raising(self, node: RASPExpr) -> list[Value] | None:
        """A sequence on which the expression raises, though its parts do not."""
        causal = self.shop.causal
        for word in self._some_sequences():
            try:
                for child in node.children:
                    evaluate(child, word, causal)
            except Exception:  # it has no meaning there
                continue
            try:
                evaluate(node, word, causal)
            except Exception:  # whatever a user's function may raise
                return word
        return None

    def step(self, node: RASPExpr, below: list[Any]) -> Known | Condition:
        shop = self.shop
        match node:
            case language.TokensType():
                symbols = shop.draft.symbols
                pairs = zip(self.alphabet, symbols, strict=True)
                bits = [(token, shop.draft.token([symbol])) for token, symbol in pairs]
                return shop.categories(bits, True)
            case language.IndicesType():
                return shop.number(CountForm({}, position=exact(1), constant=exact(-1)))
            case language.LengthType():
                if shop.causal:
                    raise shop.fault(
                        "the length is not known to a causal program: compile it with causal=False"
                    )
                return shop.number(CountForm({}, length=exact(1)))
            case language.Full():
                return shop.categories([(node.fill, TRUE)], node.fill is not None)
            case language.Map():
                return mapped(shop, node.f, below[0])
            case language.SequenceMap():
                return joined(shop, node.f, *below)
            case language.Select():
                return select(shop, below[0], below[1], node.predicate)
            case language.SelectorAnd():
                return All(tuple(below))
            case language.SelectorOr():
                return Some(tuple(below))
            case language.SelectorNot():
                return Opposite(below[0])
            case language.SelectorWidth():
                return width(shop, below[0])
            case language.Aggregate():
                try:
                    return aggregate(shop, below[0], below[1], node.default)
                except DisagreementError:
                    raise self.disagreement(node) from None
        raise shop.fault("constants that ignore the input cannot be compiled: use Full, or Select")

    def disagreement(self, node: language.Aggregate) -> RaspError:
        """Why categories cannot be read: the first short sequence on which they differ."""
        for word in self._some_sequences():
            try:
                rows = evaluate(node.selector, word, self.shop.causal)
                values = evaluate(node.sop, word, self.shop.causal)
            except (ValueError, TypeError, KeyError, IndexError, ArithmeticError):
                continue
            for i, row in enumerate(rows):
                chosen = [v for v, yes in zip(values, row, strict=True) if yes]
                if len({tagged(v) for v in chosen}) > 1:
                    return self.shop.fault(
                        f"categories that may differ would have to be averaged: on {word!r} "
                        f"position {i} selects {chosen!r}. Select one position, or use numbers"
                    )
        return self.shop.fault(
            "it is not plain that the selected positions always have the same value: select one "
            "position, or by values that determine it"
        )

    def _some_sequences(self) -> list[list[Value]]:
        longest = min(self.shop.longest, 5)
        short = (
            list(word) for n in range(1, longest + 1) for word in product(self.alphabet, repeat=n)
        )
        dice = random.Random(0)
        most = min(self.shop.longest, 12)
        longer = [
            [dice.choice(self.alphabet) for _ in range(dice.randrange(1, most + 1))]
            for _ in range(200)
        ]
        return [*islice(short, 2_000), *longer]


def _identity(node: RASPExpr) -> Any:
    """What a node is apart from its children and its name."""
    match node:
        case language.Full():
            return (language.Full, type(node.fill), _hashable(node.fill))
        case language.Map() | language.SequenceMap():
            return (language.Map, _hashable(node.f))
        case language.Select():
            return (language.Select, _hashable(node.predicate))
        case language.Aggregate():
            return (language.Aggregate, type(node.default), _hashable(node.default))
        case language.ConstantSOp() | language.ConstantSelector():
            return id(node)
    return type(node)


def _hashable(value: Any) -> Any:
    """With("<", 1) and With("<", True) are equal to Python, but not the same."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return (repr(value), value)
