"""The words for what is wrong with a formula.

The parser says at which token it failed and which terminals could have stood there; this
module turns that into one line for a person: what was expected, what came, what to do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from softhat.io.errors import FormulaError
from softhat.logic.syntax.signs import PREFIX, TEMPORAL
from softhat.logic.syntax.tokens import RESERVED, Token, quote, tokenize

_MEANING = {
    letter: re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__).lower()
    for letter, kind in (PREFIX | TEMPORAL).items()
    if letter.isalpha()
}
"""What each letter stands for: `weak until`."""
_BINARY = frozenset(("TEMPORAL", "_AND", "_OR", "_XOR", "_IMPLIES", "_IFF"))


def explain(text: str, at: int, expected: frozenset[str]) -> FormulaError:
    """The error for terminal number `at`, where one of the `expected` should have stood."""
    tokens = list(tokenize(text))
    ended = at == len(tokens)
    token = Token("$END", "", len(text.rstrip())) if ended else tokens[at]
    before = tokens[at - 1] if at else None
    position = token.start
    came = "but the formula ends" if ended else f"found {_show(token)}"

    def error(message: str, where: int = position) -> FormulaError:
        return FormulaError(message, where, text)

    if not tokens:
        return error("the formula is empty: expected one such as !c S a", 0)
    if token.kind == "_PERCENT":
        return error(_percent(before))
    if _in_bounds(tokens[:at]):
        return error(f"bounds are two integers in brackets, as in O[1,4] f: {came}")
    if _in_recall(tokens[:at]):
        return error(f"a recall is a value and pairs of key and query, last[v | k = q]: {came}")
    if token.kind in ("_LEFT", "_RIGHT"):
        return error(
            f"{token.text} stands only in bounds, after O H F G S U, as in O[1,4] f; for [] write G"
        )
    arithmetic = token.kind in ("_PLUS", "_MINUS", "_TIMES")
    if _after_percent(tokens[:at]) and (arithmetic or "_AND" not in expected):
        return error(f"i % m = r takes two integers, as in i % 2 = 0: {came}")
    if before is not None and before.kind == "COUNT":
        return error(
            f"{before.text} counts a formula in parentheses: expected {before.text}(f), {came}"
        )
    if expected == {"SYMBOL"} or (
        expected == {"_CLOSE"} and at > 2 and tokens[at - 3].kind == "AT"
    ):
        return error(f"at takes the name of a numerical predicate, as in at(prime): {came}")
    if before is not None and (before.kind == "MOD" or expected == {"_COMMA"}):
        return error(f"mod takes two integers, as in mod(2, 0): {came}")
    if "SYMBOL" in expected or "INTEGER" in expected:
        return error(_missing_operand(token, before, came, expected))
    open_at = _opener(tokens[:at])
    if token.kind == "_CLOSE" and open_at is None:
        return error("this closing parenthesis has no opening one: remove it or open one")
    if token.kind == "_TIMES" and "_PLUS" in expected:
        return error(_product(tokens[at + 1 :]))
    # In last[…] a relation may stand after a formula; a number is what + may follow.
    if "RELATION" in expected and ("_PLUS" in expected or "_AND" not in expected):
        return error(_not_a_formula(tokens[:at], before, open_at, came))
    if token.kind == "RELATION" and ("_PLUS" in expected or _after_relation(tokens[:at])):
        return error("comparisons do not chain: write 1 < #(a) & #(a) < 3 for 1 < #(a) < 3")
    if token.kind == "RELATION" or (
        token.kind in ("_PLUS", "_MINUS", "_TIMES") and "_AND" in expected
    ):
        return error(
            f"expected a number before {token.text}, found a formula: #(f) counts the positions "
            "where f holds"
        )
    if ended and open_at is not None and "_CLOSE" in expected:
        return error(
            "this parenthesis is never closed: expected ) before the end",
            tokens[open_at].start,
        )
    if "_AND" in expected:
        return error(_missing_operator(token, before, came, open_at is not None))
    return error(f"expected {_list(expected)}, {came}")


def _in_recall(tokens: list[Token]) -> bool:
    """Is the innermost bracket that is still open that of `last[`?"""
    at = _opener(tokens, ("_OPEN", "_LEFT"), ("_CLOSE", "_RIGHT"))
    return at is not None and [t.text for t in tokens[max(at - 1, 0) : at + 1]] == ["last", "["]


def _after_relation(tokens: list[Token]) -> bool:
    """Is what stands last already one side of a comparison?"""
    depth = 0
    for token in reversed(tokens):
        depth += (token.kind in ("_CLOSE", "_RIGHT")) - (token.kind in ("_OPEN", "_LEFT"))
        if depth < 0 or (depth == 0 and token.kind in _BINARY):
            return False
        if depth == 0 and token.kind == "RELATION":
            return True
    return False


def _opener(
    tokens: list[Token], opening: Sequence[str] = ("_OPEN",), closing: Sequence[str] = ("_CLOSE",)
) -> int | None:
    """The innermost parenthesis (or bracket) that is still open after `tokens`."""
    open_at = []
    for k, token in enumerate(tokens):
        if token.kind in opening:
            open_at.append(k)
        elif token.kind in closing and open_at:
            open_at.pop()
    return open_at[-1] if open_at else None


def _in_bounds(tokens: list[Token]) -> bool:
    """Is a bracket of bounds open after `tokens`?"""
    for token in reversed(tokens):
        if token.kind == "_LEFT":
            return True
        if token.kind not in ("INTEGER", "_MINUS", "_COMMA"):
            return False
    return False


def _missing_operand(
    token: Token, before: Token | None, came: str, expected: frozenset[str]
) -> str:
    number = "SYMBOL" not in expected
    if expected == {"INTEGER", "_MINUS"}:
        return f"mod takes two integers, as in mod(2, 0): {came}"
    after = f" after {before.text}" if before is not None else ""
    if number:
        if token.kind in ("SYMBOL", "CONSTANT"):
            return (
                f"expected a number{after}, {came}: write #({quote(token.text)}) to count the "
                "positions where it holds"
            )
        return f"expected a number such as #(a), i, n or 3{after}, {came}"
    if token.kind in _BINARY or token.kind in ("RELATION", "_PLUS", "_TIMES"):
        what = "number" if token.kind in ("RELATION", "_PLUS", "_TIMES") else "formula"
        return f"expected a {what}{after}, {came}, which needs one on its left{_as_symbol(token)}"
    if before is not None and before.kind == "_OPEN" and token.kind == "_CLOSE":
        return "expected a formula between the parentheses, found nothing"
    hint = _as_symbol(before) if before is not None else ""
    return f"expected a formula{after}, {came}{hint or _as_symbol(token)}"


def _percent(before: Token | None) -> str:
    """A % that is not the one of i % m = r."""
    only = "% stands only in i % m = r, which is mod(m, r), and a comment starts with //"
    if before is not None and before.kind in ("_CLOSE", "INTEGER"):
        return (
            f"{only}; PARITY, an even number of a, is F (2*#(a) = #*(a)): m divides a total iff "
            "some prefix has an m-th of it"
        )
    return only


def remainder_of_length(modulus: int, remainder: int) -> str:
    """n % m = r can be said, in other words."""
    shown = f"mod({_short(modulus)}, {_short(remainder)})"
    return (
        f"% takes the position i, not the length n: the last position is n, so write {shown} to "
        f"ask there, or F (last & {shown}) anywhere"
    )


def _after_percent(tokens: list[Token]) -> bool:
    """Does the unfinished or just finished atom begin with i %?"""
    kinds = [token.kind for token in tokens[-6:]]
    if "_PERCENT" not in kinds:
        return False
    after = kinds[len(kinds) - kinds[::-1].index("_PERCENT") :]
    return all(kind in ("INTEGER", "_MINUS", "RELATION") for kind in after)


def _product(rest: list[Token]) -> str:
    """A * after a count."""
    if rest and rest[0].kind in ("INTEGER", "_MINUS"):
        return "in a product the integer comes first: write 2*#(a) for #(a)*2"
    return (
        "a product of two counts cannot be said: attention adds counts with fixed weights, so a "
        "comparison is linear, such as 2*#(a) - 3*#(b) > i"
    )


def _not_a_formula(
    tokens: list[Token], before: Token | None, open_at: int | None, came: str
) -> str:
    """A number stands where a formula should."""
    if before is not None and before.kind == "VARIABLE":
        name = before.text
        meaning = "position" if name == "i" else "length of the word"
        return (
            f"{name} is the {meaning}, a number: compare it, as in {name} > 1, or write "
            f"'{name}' for the symbol; {came}"
        )
    if open_at is not None and open_at and tokens[open_at - 1].kind == "COUNT":
        return (
            f"{tokens[open_at - 1].text} counts the positions where a formula holds, and a number "
            f"is none: compare it, as in #(#(a) > 1); {came}"
        )
    if before is not None and before.kind == "INTEGER" and came.startswith("found"):
        return (
            f"expected an operator such as * or >= after {before.text}, {came}: write 2*t for 2 t"
        )
    return f"a number is not a formula: compare it, as in #(a) >= 1; {came}"


def _missing_operator(token: Token, before: Token | None, came: str, inside: bool) -> str:
    hint = ""
    if token.kind in ("SYMBOL", "CONSTANT") and token.text[:1] in _MEANING and token.text[1:]:
        hint = f": if an operator is meant, write {token.text[:1]} {token.text[1:]}"
    elif before is not None and before.kind == "SYMBOL" and set(before.text) <= set(_MEANING):
        hint = f": if operators are meant, write {' '.join(before.text)} {token.text}"
    elif token.kind in ("UNARY", "SYMBOL", "CONSTANT", "_OPEN"):
        hint = ": write & for and, | for or"
    close = " or )" if inside else ""
    after = f" after {_show(before)}" if before is not None else ""
    return f"expected an operator{close}{after}, {came}{hint}"


def _as_symbol(token: Token) -> str:
    """How to name the symbol that is spelt like a reserved word."""
    return f"; the symbol {token.text} is written '{token.text}'" if token.text in RESERVED else ""


def _show(token: Token) -> str:
    shown = token.text if len(token.text) <= 40 else f"{token.text[:39]}…"
    if token.kind == "SYMBOL":
        return f"the symbol {shown}"
    if shown in _MEANING:
        return f"{shown} ({_MEANING[shown]})"
    return shown


def _short(value: int) -> str:
    return str(value) if abs(value) < 10**30 else "…"


_WORDS = {
    "_OPEN": "(",
    "_CLOSE": ")",
    "_COMMA": "a comma",
    "_PLUS": "+",
    "_MINUS": "-",
    "_TIMES": "*",
    "RELATION": "a comparison such as >=",
    "INTEGER": "an integer",
    "SYMBOL": "a formula",
    "$END": "the end",
}


def _list(expected: frozenset[str]) -> str:
    words = sorted(_WORDS[name] for name in expected if name in _WORDS)
    return " or ".join(words) if words else "something else"
