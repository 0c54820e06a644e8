"""From text to formulas.

`grammar.lark` is the grammar, `tokens` its spelling and `complaints` the words for what is
wrong. lark's LALR parser keeps its own stack and calls `Build` on every reduction, so formulas
of any depth are read in linear time, without recursion.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator
from functools import cache
from importlib import resources
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedToken, v_args
from lark.lexer import Lexer

from softhat.errors import FormulaError, SofthatError
from softhat.logic.syntax import nodes
from softhat.logic.syntax.complaints import explain, remainder_of_length
from softhat.logic.syntax.decimals import to_integer
from softhat.logic.syntax.definitions import has_definitions, read_definitions
from softhat.logic.syntax.nodes import Formula, Node, Term
from softhat.logic.syntax.tokens import tokenize

_UNARY = {
    "!": nodes.Not,
    "Y": nodes.Yesterday,
    "Z": nodes.WeakYesterday,
    "O": nodes.Once,
    "H": nodes.Historically,
    "X": nodes.Tomorrow,
    "N": nodes.WeakTomorrow,
    "F": nodes.Eventually,
    "G": nodes.Always,
}
_TEMPORAL = {
    "S": nodes.Since,
    "T": nodes.Triggered,
    "U": nodes.Until,
    "R": nodes.Release,
    "W": nodes.WeakUntil,
    "M": nodes.StrongRelease,
}
_COUNTS = {"#": nodes.Count, "#>": nodes.CountFuture, "#*": nodes.CountAll}
_CONSTANTS = {
    "true": nodes.TRUE,
    "false": nodes.FALSE,
    "first": nodes.FIRST,
    "last": nodes.LAST,
}
_VARIABLES = {"i": nodes.position, "n": nodes.length}


def parse(
    text: str,
    alphabet: Collection[str] | None = None,
    propositions: Collection[str] | None = None,
) -> Formula:
    """The formula that `text` spells.

    With an alphabet (or, for propositional words, propositions) every symbol must be one of it.
    """
    if alphabet is not None and propositions is not None:
        raise SofthatError("a formula has an alphabet or propositions, not both")
    if has_definitions(text):

        def piece(text: str, names: Collection[str]) -> Formula:
            return parse(
                text,
                None if alphabet is None else [*alphabet, *names],
                None if propositions is None else [*propositions, *names],
            )

        return read_definitions(text, piece)
    formula: Formula = read(Formula, text)
    known, kind = (alphabet, "alphabet") if alphabet is not None else (propositions, "propositions")
    if known is not None:
        check_symbols(text, list(known), kind)
    return formula


def read(kind: type[Node], text: str) -> Any:
    """The formula (`kind` is Formula) or counting term (`kind` is Term) that `text` spells."""
    if not isinstance(text, str):
        raise SofthatError(f"a formula is text, not {type(text).__name__}")
    start = "sum" if issubclass(kind, Term) else "formula"
    try:
        return _parser().parse(text, start=start)
    except UnexpectedToken as error:
        fault = explain(text, error.token, frozenset(error.expected))
    except _LocatedError as error:
        fault = FormulaError(error.message, error.position, text)
    # Raised here, without lark's error as its context: that one holds the parser, and clusters
    # pickle an error together with its context.
    raise fault


def check_symbols(text: str, known: Collection[str], kind: str) -> None:
    """Refuse the first symbol of `text` that is not `known`, with what was probably meant."""
    allowed = frozenset(known)
    before = ["", ""]  # the kinds of the two tokens before: `at(name)` names no symbol
    for token in tokenize(text):
        symbol = token.type == "SYMBOL" and before != ["AT", "_OPEN"]
        before = [before[1], token.type]
        if symbol and token not in allowed:
            raise FormulaError(
                f"{token} is not in the {kind}: {_meant(str(token), sorted(allowed))}",
                token.start_pos or 0,
                text,
            )


def _meant(name: str, known: list[str]) -> str:
    if len(name) < 100 and known:
        symbols = "|".join(re.escape(symbol) for symbol in sorted(known, key=len, reverse=True))
        operand = f"[YZOHXNFG]*(?:{symbols})"
        if re.fullmatch(f"{operand}(?:[STURWM]{operand})*", name):
            pieces = re.findall(f"{symbols}|[A-Z]", name)
            return f"if operators are meant, write {' '.join(pieces)}"
    near = difflib.get_close_matches(name[:100], known, n=1)
    if near:
        return f"did you mean {near[0]}?"
    listed = " ".join(known[:20]) + (" …" if len(known) > 20 else "")
    return f"expected one of {listed}" if known else "it is empty"


@cache
def _parser() -> Lark:
    """Built when the first formula is read: about 30 ms."""
    return Lark(
        resources.files("softhat.logic.syntax")
        .joinpath("grammar.lark")
        .read_text(encoding="utf-8"),
        parser="lalr",
        lexer=_Tokens,
        start=["formula", "sum"],
        transformer=Build(),
        propagate_positions=False,
        maybe_placeholders=False,
    )


class _Tokens(Lexer):  # type: ignore[misc]  # lark is untyped here
    """The form in which lark takes a lexer."""

    def __init__(self, _conf: object) -> None:
        pass

    def lex(self, data: str) -> Iterator[Token]:
        return tokenize(data)


@v_args(inline=True)
class Build(Transformer):  # type: ignore[misc]  # lark is untyped here
    """One step for each alias of the grammar."""

    def symbol(self, name: Token) -> Formula:
        return nodes.Symbol(str(name))

    def constant(self, word: Token) -> Formula:
        return _CONSTANTS[word]

    def mod(self, word: Token, modulus: int, remainder: int) -> Formula:
        try:
            return nodes.Mod(modulus, remainder)
        except FormulaError as error:
            raise _LocatedError(error.message, word.start_pos or 0) from None

    def at(self, word: Token, name: Token) -> Formula:
        return nodes.predicate(str(name))

    def remainder(self, variable: Token, modulus: int, relation: Token, remainder: int) -> Formula:
        at = variable.start_pos or 0
        if variable != "i":
            raise _LocatedError(remainder_of_length(modulus, remainder), at)
        if relation not in ("=", "!="):
            raise _LocatedError(
                f"i % m is compared by = and != only, as in i % 2 = 0, not by {relation}", at
            )
        holds = self.mod(variable, modulus, remainder)
        return holds if relation == "=" else nodes.Not(holds)

    def comparison(self, left: Term, relation: Token, right: Term) -> Formula:
        return nodes.Comparison(left, str(relation), right)  # type: ignore[arg-type]

    def unary(self, operator: Token, operand: Formula) -> Formula:
        return _UNARY[operator](operand)

    def temporal(self, left: Formula, operator: Token, right: Formula) -> Formula:
        return _TEMPORAL[operator](left, right)

    def variable(self, name: Token) -> Term:
        return _VARIABLES[name]

    def count(self, kind: Token, operand: Formula) -> Term:
        return _COUNTS[kind](operand)

    def integer(self, digits: Token) -> int:
        return to_integer(digits)

    def negative(self, digits: Token) -> int:
        return -to_integer(digits)

    def negate(self, term: Term) -> Term:
        return nodes.Scale(-1, term)

    conjunction = nodes.And
    disjunction = nodes.Or
    xor = nodes.Xor
    implies = nodes.Implies
    iff = nodes.Iff
    number = nodes.Integer
    scale = nodes.Scale
    plus = nodes.Sum
    minus = nodes.Difference


class _LocatedError(FormulaError):
    """A fault found while building; `read` adds the text."""
