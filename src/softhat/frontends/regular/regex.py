"""Regular expressions with intersection and complement: from text to the minimal automaton.

`grammar.lark` is the grammar. Every reduction of the LALR parser joins pieces of one automaton
with empty moves (Thompson); `&` and `~` make their operands deterministic first. No recursion,
so expressions may be nested as deeply as memory allows.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Any, NamedTuple, cast

from lark import (
    Lark,
    Token,
    Transformer,
    UnexpectedCharacters,
    UnexpectedInput,
    UnexpectedToken,
    v_args,
)

from softhat.frontends.regular.classes import ClassPlace, members, no_such_escape
from softhat.frontends.regular.dfa import (
    DFA,
    check_alphabet,
    complement,
    explored,
    intersection,
    minimal,
)
from softhat.io.argument_types import texts
from softhat.io.errors import FormulaError, SofthatError
from softhat.logic.syntax.tokens import unquote

MOST_PIECES = 20_000
"""States of the automaton with empty moves; longer expressions are refused."""


def read_regex(text: str, alphabet: str | Iterable[str] | None = None) -> DFA:
    """The minimal automaton of an expression, over `alphabet` or the symbols that occur."""
    if not isinstance(text, str):
        raise SofthatError(f"a regular expression is text, not {type(text).__name__}")
    known = None if alphabet is None else check_alphabet(tuple(texts("alphabet", alphabet)))
    tokens = _tokens(text)
    _check_anchors(text, tokens)
    _check_spaces(text, tokens, known or ())
    named = _symbols(text, tokens, known)
    symbols = known or tuple(sorted(named))
    if not symbols and text.strip():
        raise SofthatError(
            "the expression names no symbol: give the alphabet, such as alphabet='ab'"
        )
    pieces = _Pieces(symbols or ("a",), text)
    try:
        # The tree is built up by the transformer: what comes is its value.
        piece = cast("_Piece", _lark(pieces).parse(text))
    except UnexpectedInput as error:
        fault = _explain(text, error)
    else:
        return pieces.determined(piece)
    raise fault  # without lark's error as its context, which holds the whole parser


def _tokens(text: str) -> list[Token]:
    try:
        tokens = list(_parser().lex(text))
    except UnexpectedCharacters as error:
        fault = _explain(text, error)
    else:
        for token, after in pairwise(tokens):
            if token.type == "LPAR" and after.type == "QMARK":
                raise _fault(
                    token,
                    text,
                    "(?…) looks around or sets an option, which no automaton does: write (…) or "
                    "(?:…)",
                )
            _check_one_reading(text, token, after)
        return tokens
    raise fault


def _check_one_reading(text: str, token: Token, after: Token) -> None:
    """A second sign behind `*`, `+`, `?` or `{…}` makes it lazy or possessive elsewhere: it must
    mean the same when it repeats what stands before."""
    is_bound = token.type == "REPEAT" and not token.startswith(("{0", "{,"))
    is_lazy = after.type == "QMARK" and (token.type == "PLUS" or is_bound)
    is_possessive = after.type == "PLUS" and token.type in ("STAR", "PLUS", "QMARK", "REPEAT")
    if is_lazy or is_possessive:
        raise _fault(
            token,
            text,
            f"{token}{after} can be read in two ways: write (x{token}){after}, or x{token} alone "
            f"where {after} makes it {'lazy' if is_lazy else 'possessive'}",
        )


def _check_anchors(text: str, tokens: list[Token]) -> None:
    """`^` stands at the beginning and `$` at the end, or neither: words are matched whole."""
    anchors = [token for token in tokens if token.type in ("BEGIN", "END")]
    if not anchors:
        return
    outside = [t for t in anchors if t is not (tokens[0] if t.type == "BEGIN" else tokens[-1])]
    if outside:
        raise _anchor_fault(text, outside[0])
    if len(anchors) != 2:
        raise _fault(
            anchors[0],
            text,
            "words are matched whole: write both ^ and $, with .* where anything may stand",
        )
    depth = 0
    for token in tokens:
        depth += (token.type in ("LPAR", "GROUP")) - (token.type == "RPAR")
        if token.type == "VBAR" and depth == 0:
            raise _fault(token, text, "^ and $ would belong to one side of | each: write ^(…|…)$")


def _check_spaces(text: str, tokens: list[Token], known: tuple[str, ...]) -> None:
    """White space between tokens does not count, so it must be no symbol that one could mean."""
    starts = [token.start_pos or 0 for token in tokens]
    ends = [start + len(token) for start, token in zip(starts, tokens, strict=True)]
    for end, start in zip([0, *ends], [*starts, len(text)], strict=True):
        for at in range(end, start):
            if text[at] in known:
                raise FormulaError(
                    f"white space does not count, and the alphabet has the symbol {text[at]!r}: "
                    "write it with a backslash or in quotes, or leave it out",
                    at,
                    text,
                )


def _anchor_fault(text: str, token: Token) -> FormulaError:
    where = "beginning" if token.type == "BEGIN" else "end"
    return _fault(
        token,
        text,
        f"{token} stands at the {where} of the whole expression only, and words are matched whole; "
        f"the symbol {token} is written \\{token}",
    )


def _symbols(text: str, tokens: list[Token], known: tuple[str, ...] | None) -> set[str]:
    """The symbols that an expression names; all in the alphabet, if that is known."""
    named: set[str] = set()
    for token in tokens:
        if token.type == "CLASS":
            named.update(members(ClassPlace(str(token), token.start_pos or 0, text), known))
        elif token.type == "SYMBOL":
            name = _name(token, text)
            if known is not None and name not in known:
                raise _fault(
                    token,
                    text,
                    f"{name} is not in the alphabet: expected one of {' '.join(known[:20])}",
                )
            named.add(name)
    return named


def _name(token: Token, text: str) -> str:
    if token[0] == "\\":
        return token[1]
    return unquote(token, token.start_pos or 0, text) if token[0] in "'\"" else str(token)


def _explain(text: str, error: UnexpectedInput) -> FormulaError:
    at = error.pos_in_stream or 0
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        if not text.strip():
            return FormulaError("the expression is empty: () is the empty word", 0, text)
        open_ = text.count("(") - text.count("\\(") > text.count(")") - text.count("\\)")
        rest = "a parenthesis is not closed" if open_ else "something must follow"
        return FormulaError(f"the expression ends too early: {rest}", len(text), text)
    char = text[at]
    before = text[:at].rstrip()
    if char in "'\"":
        why = f"the quote {char} is not closed: write \\{char} for the symbol {char}"
    elif char == "\\":
        after = text[at + 1 : at + 2]
        ends = "a backslash at the end: write \\\\ for the symbol \\"
        why = no_such_escape(after) if after else ends
    elif char == "[":
        why = "the class is empty or not closed: write [ab], or \\[ for the symbol ["
    elif char == "{":
        why = "a repetition is written {3}, {2,} or {2,5}; the symbol { is written \\{"
    elif char in "]}":
        why = f"{char} closes nothing: the symbol {char} is written \\{char}"
    elif char in "*+?" and len(before) > 1 and "~" in before[-4:]:
        why = f"~ with {char} can be read in two ways: write ~(x{char}) or (~x){char}"
    elif char in "*+?":
        why = f"{char} stands after what it repeats; a symbol is written \\{char}"
    elif char in "|&":
        why = (
            f"{char} joins two expressions; () is the empty word, and a symbol is written \\{char}"
        )
    elif char == ")":
        why = "this parenthesis closes nothing, or too early: () is the empty word"
    else:
        why = f"{char} cannot stand here"
    return FormulaError(why, at, text)


def _fault(token: Token, text: str, message: str) -> FormulaError:
    return FormulaError(message, token.start_pos or 0, text)


class _Piece(NamedTuple):
    """A part of the automaton, entered at `start` and left at `end`."""

    start: int
    end: int


@cache
def _parser() -> Lark:
    return _lark(None)


def _lark(transformer: Any) -> Lark:
    grammar = (
        resources.files("softhat.frontends.regular").joinpath("grammar.lark").read_text("utf-8")
    )
    return Lark(grammar, start="expression", parser="lalr", lexer="basic", transformer=transformer)


@v_args(inline=True)
class _Pieces(Transformer[Token, _Piece]):
    """The automaton being joined: states are numbers, with empty moves and moves by a symbol. Each
    alias of the grammar is a step."""

    def __init__(self, alphabet: tuple[str, ...], text: str) -> None:
        super().__init__()
        self.alphabet = alphabet
        self.place = {symbol: k for k, symbol in enumerate(alphabet)}
        self.text = text
        self.empty_moves: list[list[int]] = []
        self.moves: list[dict[int, list[int]]] = []

    def _new(self) -> int:
        if len(self.moves) >= MOST_PIECES:
            raise SofthatError(
                f"the expression is too long: its automaton has over {MOST_PIECES:,} states"
            )
        self.empty_moves.append([])
        self.moves.append({})
        return len(self.moves) - 1

    def _piece(self) -> _Piece:
        return _Piece(self._new(), self._new())

    def symbol(self, token: Token) -> _Piece:
        return self._reading([self.place[_name(token, self.text)]])

    def one_of(self, token: Token) -> _Piece:
        place = ClassPlace(str(token), token.start_pos or 0, self.text)
        return self._reading(self.place[name] for name in members(place, self.alphabet))

    def any(self) -> _Piece:
        return self._reading(range(len(self.alphabet)))

    def _reading(self, symbols: Iterable[int]) -> _Piece:
        """One of these symbols."""
        piece = self._piece()
        self.moves[piece.start] = {k: [piece.end] for k in symbols}
        return piece

    def group(self, _opening: Token, inner: _Piece) -> _Piece:
        return inner

    def anchored(self, _begin: Token, inner: _Piece, _end: Token) -> _Piece:
        return inner

    def empty(self) -> _Piece:
        piece = self._piece()
        self.empty_moves[piece.start].append(piece.end)
        return piece

    def union(self, left: _Piece, right: _Piece) -> _Piece:
        piece = self._piece()
        self.empty_moves[piece.start] += [left.start, right.start]
        self.empty_moves[left.end].append(piece.end)
        self.empty_moves[right.end].append(piece.end)
        return piece

    def concatenation(self, left: _Piece, right: _Piece) -> _Piece:
        self.empty_moves[left.end].append(right.start)
        return _Piece(left.start, right.end)

    def plus(self, inner: _Piece) -> _Piece:
        piece = self._piece()
        self.empty_moves[piece.start].append(inner.start)
        self.empty_moves[inner.end] += [inner.start, piece.end]
        return piece

    def option(self, inner: _Piece) -> _Piece:
        piece = self._piece()
        self.empty_moves[piece.start] += [inner.start, piece.end]
        self.empty_moves[inner.end].append(piece.end)
        return piece

    def star(self, inner: _Piece) -> _Piece:
        return self.option(self.plus(inner))

    def repeat(self, inner: _Piece, token: Token) -> _Piece:
        least, comma, most = token[1:-1].partition(",")
        first = self._number(least or "0", token)
        last = first if not comma else None if not most else self._number(most, token)
        if last is not None and last < first:
            raise _fault(
                token, self.text, f"{token} asks for at least {first} and at most {last} times"
            )
        return self._repeated(inner, first, last)

    def _number(self, digits: str, token: Token) -> int:
        if len(digits) > 6 or int(digits) > MOST_PIECES:
            raise _fault(
                token,
                self.text,
                f"{token} repeats more often than an automaton of {MOST_PIECES:,} states can count",
            )
        return int(digits)

    def _repeated(self, inner: _Piece, least: int, most: int | None) -> _Piece:
        """`least` to `most` times, or any number from `least` up. Each time is a copy."""
        whole = self.empty()
        for _ in range(least):
            whole = self.concatenation(whole, self._copy(inner))
        if most is None:
            return self.concatenation(whole, self.option(self.plus(self._copy(inner))))
        rest = self.empty()
        for _ in range(most - least):
            rest = self.option(self.concatenation(self._copy(inner), rest))
        return self.concatenation(whole, rest)

    def _copy(self, piece: _Piece) -> _Piece:
        """Another piece of the same language. Pieces have no moves out of them but at the end."""
        of = {piece.start: self._new()}
        queue = [piece.start]
        for state in queue:
            onward = [to for ends in self.moves[state].values() for to in ends]
            for to in (*onward, *self.empty_moves[state]):
                if to not in of:
                    of[to] = self._new()
                    queue.append(to)
        for state in queue:
            self.empty_moves[of[state]] = [of[to] for to in self.empty_moves[state]]
            self.moves[of[state]] = {
                k: [of[to] for to in ends] for k, ends in self.moves[state].items()
            }
        end = of[piece.end] if piece.end in of else self._new()  # else the language is empty
        return _Piece(of[piece.start], end)

    def complement(self, inner: _Piece) -> _Piece:
        return self._embedded(complement(self.determined(inner)))

    def intersection(self, left: _Piece, right: _Piece) -> _Piece:
        return self._embedded(intersection(self.determined(left), self.determined(right)))

    def _embedded(self, dfa: DFA) -> _Piece:
        piece = self._piece()
        states = [self._new() for _ in dfa.step]
        self.empty_moves[piece.start].append(states[dfa.start])
        for state, row in zip(states, dfa.step, strict=True):
            self.moves[state] = {k: [states[to]] for k, to in enumerate(row)}
        for state in dfa.accepting:
            self.empty_moves[states[state]].append(piece.end)
        return piece

    def determined(self, piece: _Piece) -> DFA:
        """The subset construction; a set of states is the bits of an integer."""
        closures: dict[int, int] = {}

        def closure(state: int) -> int:
            if state not in closures:
                seen, stack = 1 << state, [state]
                while stack:
                    for to in self.empty_moves[stack.pop()]:
                        if not seen >> to & 1:
                            seen |= 1 << to
                            stack.append(to)
                closures[state] = seen
            return closures[state]

        reads = sum(1 << state for state, moves in enumerate(self.moves) if moves)
        useful = reads | 1 << piece.end  # the others only pass on

        def follow(now: int) -> list[int]:
            targets = [0] * len(self.alphabet)
            for state in _bits(now):
                for k, to in self.moves[state].items():
                    for end in to:
                        targets[k] |= closure(end)
            return [target & useful for target in targets]

        sets, step = explored(closure(piece.start) & useful, follow)
        accepting = frozenset(k for now, k in sets.items() if now >> piece.end & 1)
        return minimal(DFA(self.alphabet, 0, accepting, step))


def _bits(number: int) -> list[int]:
    places = []
    while number:
        low = number & -number
        places.append(low.bit_length() - 1)
        number ^= low
    return places
