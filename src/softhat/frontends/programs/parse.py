"""From the text of a B-RASP or C-RASP program to data, by precedence climbing.

One definition a line. Loose to tight: `c ? t : e`; `<->`; `->`; `|` and `xor`; `&`; `!`;
comparisons; `+` and `-`; `*`. So `!C(i) > 1` is `!(C(i) > 1)`, as in formulas.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from softhat.frontends.programs import syntax
from softhat.io.errors import FormulaError, SofthatError
from softhat.logic.syntax.tokens import SPELLINGS, unquote

DEEPEST = 40
"""Parentheses in parentheses: deeper ones are refused, since each costs a call."""

_TOKEN = re.compile(
    r"""(?P<skip>[ \t\r]+)
    |(?P<symbol>Q_?(?:'(?:[^'\\]|\\.)+'|"(?:[^"\\]|\\.)+"|[A-Za-z0-9]+|[^\sA-Za-z0-9_'"])
        (?=\s*\(\s*\w\s*\)))
    |(?P<word>[^\W\d]\w*'*)
    |(?P<number>[0-9]+)
    |(?P<sign>:=|<->|<=>|->|=>|<=|>=|!=|==|&&|\|\||[◀▶\#]_?|[!~¬&∧|∨⊕→↔≤≥≠<>=()\[\],:?+\-−*·%])
    """,
    re.VERBOSE,
)
_SPELLINGS = {
    **{word: sign for word, (_, sign) in SPELLINGS.items()}, "==": "=",
    "◀": "leftmost", "◀_": "leftmost", "▶": "rightmost", "▶_": "rightmost", "#_": "#",
}  # fmt: skip
_RELATIONS = ("<", "<=", "=", "!=", ">=", ">")
_MASKS: dict[str, syntax.Mask] = {"<": "<", "<=": "<=", ">": ">", ">=": ">="}
_LEVELS: tuple[tuple[str, ...], ...] = (("<->",), ("->",), ("|", "xor"), ("&",))
_KEYWORDS = {"leftmost", "rightmost", "accept", "true", "false", "min", "max", "first", "last",
             "xor", "not", "and", "or", "i", "j", "n"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    symbol: str = ""


def parse_program(text: str) -> syntax.ParsedProgram:
    """The program that `text` spells; a `FormulaError` with the position of what is wrong."""
    if not isinstance(text, str):
        raise SofthatError(f"a program is text, not {type(text).__name__}")
    definitions: dict[str, syntax.Expression] = {}
    starts: dict[str, int] = {}
    accept: _Token | None = None
    at = 0
    for line in text.split("\n"):
        tokens = _tokens(line.split("//")[0], at, text, definitions)
        at += len(line) + 1
        if len(tokens) == 1:  # only the end
            continue
        reader = _LineReader(tokens, text)
        if tokens[0].text == "accept":
            if accept is not None:
                raise FormulaError("a program has one line `accept`", tokens[0].start, text)
            accept = reader.accepted()
            continue
        name, body = reader.definition()
        if name.text in definitions:
            raise FormulaError(f"{name.text} is defined already", name.start, text)
        definitions[name.text], starts[name.text] = body, name.start
    if not definitions:
        raise FormulaError(
            "the program defines nothing: expected lines such as P(i) := Qa(i)", 0, text
        )
    if accept is not None and accept.text not in definitions:
        raise FormulaError(f"{accept.text} is not defined", accept.start, text)
    accepting = accept.text if accept is not None else list(definitions)[-1]
    return syntax.ParsedProgram(text, definitions, accepting, starts[accepting])


def _tokens(line: str, offset: int, text: str, defined: Container[str]) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while at < len(line):
        piece = _TOKEN.match(line, at)
        if piece is None:
            raise FormulaError(f"{line[at]} cannot stand in a program", offset + at, text)
        kind, spelt, start = str(piece.lastgroup), piece[0], offset + at
        at = piece.end()
        # A definition may be called Qa too; then it is meant from there on.
        if kind == "symbol" and (spelt in defined or (not tokens and spelt.isidentifier())):
            kind = "word"
        if kind == "symbol":
            name = spelt[1:].removeprefix("_") or "_"
            name = unquote(name, start + spelt.index(name), text) if name[0] in "'\"" else name
            tokens.append(_Token(kind, spelt, start, name))
        elif kind != "skip":
            tokens.append(_Token(kind, _SPELLINGS.get(spelt, spelt), start))
    return [*tokens, _Token("end", "the end of the line", offset + len(line))]


@dataclass(slots=True)
class _LineReader:
    """The tokens of one line, read from left to right."""

    tokens: list[_Token]
    text: str
    at: int = 0
    depth: int = 0

    @property
    def now(self) -> _Token:
        return self.tokens[self.at]

    def ahead(self, *texts: str) -> bool:
        return [token.text for token in self.tokens[self.at : self.at + len(texts)]] == [*texts]

    def take(self) -> _Token:
        token = self.now
        self.at += token.kind != "end"
        return token

    def expect(self, wanted: str, why: str) -> _Token:
        if self.now.text != wanted:
            raise self.fault(f"expected {wanted} {why}, found {self.now.text}")
        return self.take()

    def fault(self, message: str, at: _Token | None = None) -> FormulaError:
        return FormulaError(message, (at or self.now).start, self.text)

    def end(self) -> None:
        if self.now.kind != "end":
            raise self.fault(f"expected the end of the line, found {self.now.text}")

    def accepted(self) -> _Token:
        self.take()
        name = self.name("accept is followed by the name of a definition")
        if self.ahead("(", "i", ")"):
            self.at += 3
        self.end()
        return name

    def definition(self) -> tuple[_Token, syntax.Expression]:
        name = self.name("a line is a definition such as P(i) := Qa(i), or accept P")
        if self.ahead("("):
            self.take()
            self.expect("i", "since definitions are for each position i")
            self.expect(")", "after i")
        self.expect(":=", "after the name of a definition")
        body = self.expression()
        self.end()
        return name, body

    def name(self, why: str) -> _Token:
        token = self.take()
        if token.kind != "word" or token.text in _KEYWORDS:
            raise self.fault(f"{token.text} is no name: {why}", token)
        return token

    # Expressions, loose to tight

    def expression(self) -> syntax.Expression:
        start = self.now.start
        condition = self.binary(0)
        if not self.ahead("?"):
            return condition
        self.take()
        then = self.binary(0)
        self.expect(":", "between the two cases")
        return syntax.ChoiceExpression(start, condition, then, self.expression())

    def binary(self, level: int) -> syntax.Expression:
        if level == len(_LEVELS):
            return self.negation()
        start = self.now.start
        left = self.binary(level + 1)
        while self.now.text in _LEVELS[level]:
            kind: Any = self.take().text
            right_associative = kind == "->"
            right = self.binary(level if right_associative else level + 1)
            left = syntax.Operation(start, kind, left, right)
        return left

    def negation(self) -> syntax.Expression:
        start = self.now.start
        count = 0
        while self.ahead("!"):
            self.take()
            count += 1
        inner = self.comparison()
        for _ in range(count):
            inner = syntax.Negation(start, inner)
        return inner

    def comparison(self) -> syntax.Expression:
        start = self.now.start
        left = self.sum()
        if isinstance(left, syntax.PlaceExpression) and self.ahead("%"):
            return self.remainder(left)
        if self.now.text not in _RELATIONS:
            return left
        relation: Any = self.take().text
        right = self.sum()
        if self.now.text in _RELATIONS:
            raise self.fault("comparisons do not chain: join two with &")
        return syntax.Operation(start, relation, left, right)

    def remainder(self, place: syntax.PlaceExpression) -> syntax.Expression:
        self.take()
        modulus = self.integer()
        relation = self.take()
        if relation.text not in ("=", "!=") or place.of == "n":
            raise self.fault("a remainder is written i % m = r", relation)
        rest = self.integer()
        if modulus < 1 or not 0 <= rest < modulus:
            raise FormulaError(
                f"i % m = r needs 0 <= r < m, not {modulus} and {rest}", place.start, self.text
            )
        at: Any = place.of
        holds = syntax.IsMod(place.start, at, modulus, rest)
        return holds if relation.text == "=" else syntax.Negation(place.start, holds)

    def integer(self) -> int:
        token = self.take()
        if token.kind != "number":
            raise self.fault(f"expected an integer, found {token.text}", token)
        return int(token.text)

    def sum(self) -> syntax.Expression:
        start = self.now.start
        left = self.product()
        while self.now.text in ("+", "-"):
            sign: Any = self.take().text
            left = syntax.Operation(start, sign, left, self.product())
        return left

    def product(self) -> syntax.Expression:
        start = self.now.start
        if self.ahead("-"):
            self.take()
            return syntax.Times(start, -1, self.product())
        if self.now.kind == "number" and self.tokens[self.at + 1].text == "*":
            factor = self.integer()
            self.take()
            return syntax.Times(start, factor, self.product())
        return self.primary()

    def primary(self) -> syntax.Expression:
        token = self.take()
        match token.kind, token.text:
            case "number", digits:
                return syntax.WholeExpression(token.start, int(digits))
            case _, "true" | "false":
                return syntax.Truth(token.start, token.text == "true")
            case _, "(":
                return self.parenthesised()
            case _, "#":
                return self.count(token)
            case _, "leftmost" | "rightmost":
                return self.attention(token)
            case _, "min" | "max":
                return self.extreme(token)
            case _, "first" | "last":
                return syntax.AtomExpression(token.start, "end", token.text, self.variable())
            case "symbol", _:
                return syntax.AtomExpression(token.start, "symbol", token.symbol, self.variable())
            case "word", "i" | "j" | "n":
                of: Any = token.text
                return syntax.PlaceExpression(token.start, of)
            case "word", name if name not in _KEYWORDS:
                if not self.ahead("("):
                    raise self.fault(f"{name} needs its position: {name}(i)", token)
                return syntax.AtomExpression(token.start, "vector", name, self.variable())
        raise self.fault(f"expected an expression, found {token.text}", token)

    def parenthesised(self) -> syntax.Expression:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.fault(
                f"more than {DEEPEST} nested parentheses: name a part of the expression"
            )
        inner = self.expression()
        self.expect(")", "after the expression in parentheses")
        self.depth -= 1
        return inner

    def variable(self) -> syntax.Variable:
        self.expect("(", "and a position")
        token = self.take()
        if token.text not in ("i", "j"):
            raise self.fault(f"a position is i or j, not {token.text}", token)
        self.expect(")", "after the position")
        at: Any = token.text
        return at

    def extreme(self, token: _Token) -> syntax.Expression:
        self.expect("(", f"after {token.text}")
        left = self.expression()
        self.expect(",", "between two numbers")
        right = self.expression()
        self.expect(")", "after two numbers")
        kind: Any = token.text
        return syntax.Operation(token.start, kind, left, right)

    def mask(self) -> syntax.Mask | None:
        """`j < i`, if that comes next."""
        words = [token.text for token in self.tokens[self.at : self.at + 3]]
        if len(words) == 3 and words[0] == "j" and words[1] in _MASKS and words[2] == "i":
            self.at += 3
            return _MASKS[words[1]]
        return None

    def range(self) -> tuple[syntax.Mask, syntax.Expression | None]:
        """`j < i [S]`, `j [S]`, `[j < i, S]`, `[1, S]`; without S for a count: `[j < i]`."""
        mask = self.mask()
        if mask is None and self.ahead("j"):
            self.take()
        if not self.ahead("["):
            return mask or "none", None
        self.take()
        inner = self.mask() if mask is None else None
        if inner is None and mask is None and self.ahead("1", ","):
            self.take()
            inner = "none"
        if inner is not None and self.ahead("]"):
            self.take()
            return inner, None
        if inner is not None:
            self.expect(",", "after the mask")
        body = self.expression()
        self.expect("]", "after what is looked for")
        return mask or inner or "none", body

    def count(self, token: _Token) -> syntax.Expression:
        mask, body = self.range()
        if body is None:
            body = self.negation()
        return syntax.CountOf(token.start, mask, body)

    def attention(self, token: _Token) -> syntax.Expression:
        side: Any = token.text
        mask, score = self.range()
        if score is None:
            raise self.fault(f"{side} needs what it looks for: {side} j < i [S(i)] V(j) : D(i)")
        value = self.binary(0)
        default: syntax.Expression = syntax.Truth(self.now.start, False)
        if self.ahead(":"):
            self.take()
            default = self.binary(0)
        return syntax.AttentionExpression(token.start, side, mask, score, value, default)
