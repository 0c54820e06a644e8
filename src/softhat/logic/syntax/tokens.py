"""How a formula is spelt: from text to the grammar's terminals.

Keywords are whole words, so `lastly` and `GFa` are symbols. Characters that cannot stand in a
formula are named (U+XXXX), with what was probably meant where they look like something else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from softhat.io.errors import FormulaError
from softhat.logic.syntax.signs import CONSTANTS, COUNTS, PREFIX, TEMPORAL, UNICODE, VARIABLES

# Every spelling, its terminal and its canonical spelling.
SPELLINGS: dict[str, tuple[str, str]] = {
    **{sign: ("UNARY", sign) for sign in PREFIX},
    **{sign: ("TEMPORAL", sign) for sign in TEMPORAL},
    **dict.fromkeys(("~", "not"), ("UNARY", "!")),
    **{word: ("CONSTANT", word) for word in CONSTANTS},
    **{word: ("VARIABLE", word) for word in VARIABLES},
    "mod": ("MOD", "mod"),
    **{sign: ("COUNT", sign) for sign in COUNTS},
    **dict.fromkeys(("&", "&&", "and"), ("_AND", "&")),
    **dict.fromkeys(("|", "||", "or"), ("_OR", "|")),
    **dict.fromkeys(("xor", "⊻"), ("_XOR", "xor")),
    **dict.fromkeys(("->", "=>", "⇒"), ("_IMPLIES", "->")),
    **dict.fromkeys(("<->", "<=>", "⇔"), ("_IFF", "<->")),
    **{word: ("RELATION", word) for word in ("<", "<=", "=", "!=", ">=", ">")},
    "(": ("_OPEN", "("),
    ")": ("_CLOSE", ")"),
    ",": ("_COMMA", ","),
    "[": ("_LEFT", "["),
    "]": ("_RIGHT", "]"),
    "+": ("_PLUS", "+"),
    "-": ("_MINUS", "-"),
    **dict.fromkeys(("*", "×"), ("_TIMES", "*")),
    "%": ("_PERCENT", "%"),
}
SPELLINGS |= {sign: SPELLINGS[word] for word, sign in UNICODE.items()}
RESERVED = frozenset(word for word in SPELLINGS if word.isascii() and word.isalpha())

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIGNS = sorted((word for word in SPELLINGS if word not in RESERVED), key=len, reverse=True)
_SKIPPED = r"[ \t\r\n\f\v]+|//[^\n]*"
_PATTERNS = {
    "word": IDENTIFIER.pattern,
    "integer": r"[0-9]++(?![A-Za-z_])",
    "quoted": r"""'(?:[^'\\\x00-\x1f]|\\.)*'|"(?:[^"\\\x00-\x1f]|\\.)*\"""",
    "wrong": "==|<>",  # or they would be read as two signs
    "sign": "|".join(map(re.escape, _SIGNS)),
}
_TOKEN = re.compile(
    f"(?P<skip>{_SKIPPED})|" + "|".join(f"(?P<{name}>{it})" for name, it in _PATTERNS.items())
)
_PIECES = re.compile(f"(?:{_SKIPPED})*+({'|'.join(_PATTERNS.values())}|[0-9]+[A-Za-z_]|[^0-9]|\\Z)")
"""What `_TOKEN` finds, without what is skipped, and nothing at the end; what starts no terminal
is a piece too."""

_OPENS = re.compile(rf"(?:{_SKIPPED})*\(")

_ESCAPE = re.compile(
    r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([\\'\"nrt0])|(.?))", re.DOTALL
)
_SIMPLE_ESCAPES = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t", "0": "\0"}

# Letters of other scripts and typographic signs that are easily taken for ASCII.
_LOOK_ALIKES = {
    **dict(zip("аАВсСеЕНіІјЈКМоОрРѕЅТуУхХ", "aABcCeEHiIjJKMoOpPsSTyYxX", strict=True)),
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρ", "ABEZHIKMNOPTYXovp", strict=True)),
    **dict(zip("‘’‚“”„‹›«»", "'''\"\"\"<><>", strict=True)),
    **dict(zip("‐‑‒–—―", "------", strict=True)),
    **dict(zip("∼∣│¦⋅∗•ꞏ", "~|||****", strict=True)),
}
_INSTEAD = {"^": "xor", "==": "=", "<>": "!=", "[]": "G", "/": "a factor on the other side"}


class Token(NamedTuple):
    """A terminal: its kind, its canonical spelling (a symbol: its name) and where it stands."""

    kind: str
    text: str
    start: int


def tokenize(text: str) -> Iterator[Token]:
    """The terminals of `text`; a `FormulaError` at the first character that starts none."""
    at = 0
    scan = _TOKEN.match
    while piece := scan(text, at):
        spelt, start, at = piece[0], at, piece.end()
        match piece.lastgroup:
            case "skip":
                continue
            case "wrong":
                raise _unknown_sign(text, start, spelt)
            case "word" if spelt == "at" and _OPENS.match(text, at):  # else a symbol like any other
                yield Token("AT", spelt, start)
            case "quoted":
                yield Token("SYMBOL", unquote(spelt, start, text), start)
            case _:
                yield Token(*classify(spelt), start)
    if at < len(text):
        raise _bad_character(text, at)


def cut(text: str) -> list[str]:
    """The terminals of `text` as they are spelt, then "": one regular expression, so it is fast.

    What starts no terminal is cut out too: `classify` refuses it.
    """
    pieces = _PIECES.findall(text)
    if pieces[-2:] == ["", ""]:  # the end, after what was skipped, is found twice
        pieces.pop()
    return pieces


def classify(spelt: str) -> tuple[str, str]:
    """Kind and canonical spelling of a piece; where it stands is for `tokenize` to say."""
    if (known := SPELLINGS.get(spelt)) is not None:
        return known
    if IDENTIFIER.fullmatch(spelt):
        return "SYMBOL", spelt
    if spelt.isascii() and spelt.isdigit():
        return "INTEGER", spelt
    if len(spelt) > 1 and spelt[0] in "'\"":
        return "SYMBOL", unquote(spelt)
    raise FormulaError(f"{spelt} starts no terminal")


def unquote(quoted: str, start: int = 0, text: str = "") -> str:
    """The symbol that a quoted form names."""

    def replace(escape: re.Match[str]) -> str:
        by_code = escape[1] or escape[2] or escape[3]
        if by_code and int(by_code, 16) <= 0x10FFFF:
            return chr(int(by_code, 16))
        if escape[4]:
            return _SIMPLE_ESCAPES[escape[4]]
        raise FormulaError(
            f"{escape[0]} is no escape: expected \\\\ \\' \\\" \\n \\r \\t \\0 \\xHH \\uHHHH "
            "or \\UHHHHHHHH",
            start + 1 + escape.start(),
            text,
        )

    name = _ESCAPE.sub(replace, quoted[1:-1]) if "\\" in quoted else quoted[1:-1]
    if not name:
        raise FormulaError("expected a symbol between the quotes, found nothing", start, text)
    return name


@lru_cache(maxsize=1024)
def quote(name: str) -> str:
    """`name` as it stands in a formula: bare if it is a free identifier, else in quotes."""
    if IDENTIFIER.fullmatch(name) and name not in RESERVED:
        return name
    return "'" + "".join(map(_escape, name)) + "'"


def _escape(char: str) -> str:
    if char in "\\'":
        return "\\" + char
    if char.isprintable():
        return char
    code = ord(char)
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


def name_character(char: str) -> str:
    """`а (U+0430, CYRILLIC SMALL LETTER A)`."""
    code = f"U+{ord(char):04X}"
    name = unicodedata.name(char, "NUL" if char == "\0" else "")
    code += f", {name}" if name else ""
    return f"{char} ({code})" if char.isprintable() and not char.isspace() else code


def look_alike(char: str) -> str | None:
    """The ASCII character that `char` is easily taken for."""
    if char in _LOOK_ALIKES:
        return _LOOK_ALIKES[char]
    folded = unicodedata.normalize("NFKC", char)
    return folded if char != folded and len(folded) == 1 and folded.isascii() else None


def _bad_character(text: str, at: int) -> FormulaError:
    char = text[at]
    if char in "'\"":
        return _bad_quote(text, at)
    if char.isascii() and char.isdigit():
        run = re.compile(r"([0-9]+)([A-Za-z_][A-Za-z0-9_]*)").match(text, at)
        hint = f": write '{run[0]}', or {run[1]}*{run[2]} for a product" if run else ""
        hint = hint if len(hint) < 100 else ", unless it is in quotes"
        return FormulaError(f"a symbol cannot start with a digit{hint}", at, text)
    if char.isascii() and char.isprintable():
        return _unknown_sign(text, at, "[]" if text.startswith("[]", at) else char)
    if char.isspace():
        return FormulaError(f"{name_character(char)} is no plain space: use one", at, text)
    if (meant := look_alike(char)) is not None:
        return FormulaError(
            f"{name_character(char)} looks like {meant!r} but is not: write {meant}, or put the "
            "symbol in quotes",
            at,
            text,
        )
    if char.isprintable():
        return FormulaError(
            f"{name_character(char)} is no operator, and a symbol only in quotes: '{char}'",
            at,
            text,
        )
    return FormulaError(f"the character {name_character(char)} cannot stand in a formula", at, text)


def _unknown_sign(text: str, at: int, sign: str) -> FormulaError:
    if sign == "\\":
        return FormulaError("a backslash stands only inside quotes", at, text)
    instead = (
        f"write {_INSTEAD[sign]}" if sign in _INSTEAD else f"a symbol goes in quotes: '{sign}'"
    )
    return FormulaError(f"{sign} is no operator: {instead}", at, text)


def _bad_quote(text: str, at: int) -> FormulaError:
    end = re.compile(r"(?:[^\\\x00-\x1f" + text[at] + r"]|\\.)*").match(text, at + 1)
    stop = end.end() if end else len(text)
    if stop < len(text) and text[stop] != "\n" and text[stop] != "\\":
        return FormulaError(
            f"{name_character(text[stop])} stands inside quotes as an escape, such as "
            f"{_escape(text[stop])}",
            stop,
            text,
        )
    return FormulaError(f"this quote is never closed: expected another {text[at]}", at, text)
