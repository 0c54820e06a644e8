"""From what is typed on the page to what it shows: one function a kind of input.

Whoever asks is not trusted: texts, alphabets and words have limits here, before anything is
parsed, and every refusal is a `SofthatError` in words for people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, cast

from softhat.explore.view import AlphabetFrom, view_of_model, view_of_simulation, view_of_values
from softhat.io.errors import FormulaError, SofthatError
from softhat.logic.fragments import symbols_of
from softhat.logic.syntax.nodes import Formula
from softhat.logic.syntax.parse import parse
from softhat.models.compiler import compile as compile_formula
from softhat.transformer.weights import Attention

MOST_TEXT = 20_000
MOST_WORD = 20_000
MOST_SYMBOLS = 200
RASP_LENGTH, MOST_RASP = 24, 64
"""RASP programs are compiled to a length: this one, or the word's up to the second."""
VIEWS = 16
"""The last ones that each process keeps."""
ATTENTIONS = ("unbounded", "temperature")


def view_of(request: Mapping[str, Any]) -> dict[str, Any]:
    """The view of a request `{kind, text, alphabet, attention, word}`, all of them text."""
    asked = {
        name: _text(request, name) for name in ("kind", "text", "alphabet", "attention", "word")
    }
    if len(asked["text"]) > MOST_TEXT:
        raise SofthatError(f"the input has more than {MOST_TEXT:,} characters")
    if len(asked["word"]) > MOST_WORD:
        raise FieldError("word", f"the word has more than {MOST_WORD:,} characters")
    if asked["kind"] not in KINDS:
        raise FieldError("kind", f"unknown kind of input {asked['kind']!r}: {', '.join(KINDS)}")
    if asked["attention"] not in ATTENTIONS:
        raise FieldError("attention", f"unknown attention: choose one of {', '.join(ATTENTIONS)}")
    return KINDS[asked["kind"]](asked)


def is_named(request: Mapping[str, Any]) -> bool:
    """Whether the input is a name of softhat's own: what it stands for is known to end."""
    text = request.get("text")
    own = isinstance(text, str) and text.lstrip().startswith("{")
    return request.get("kind") in ("rasp", "ahat", "zoo") and not own


def _attention(asked: Mapping[str, str]) -> Attention:
    """One of `ATTENTIONS`: `view_of` has checked that."""
    return cast(Attention, asked["attention"])


class FieldError(SofthatError):
    """What is wrong with one field of the page other than its input."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def explained(error: SofthatError) -> dict[str, Any]:
    """What the page shows of an error: the message, the field that it is about, and for a formula
    the line with its column."""
    field = error.field if isinstance(error, FieldError) else "text"
    if not isinstance(error, FormulaError) or not error.text:
        return {"error": str(error), "field": field}
    line, column = error.excerpt()
    return {
        "error": error.message,
        "field": field,
        "position": error.position,
        "line": line,
        "column": column,
    }


def _formula(asked: Mapping[str, str]) -> dict[str, Any]:
    formula = parse(asked["text"])
    used = frozenset(symbols_of(formula))
    if "{" in asked["word"] and not asked["alphabet"].strip():
        known = _names(asked["word"].translate(str.maketrans("{},", "   ")))
        names = sorted({*known, *used})
        return _view(formula, tuple(names), True, _attention(asked), "inferred", used)
    return _compiled(formula, asked, used)


def _regex(asked: Mapping[str, str]) -> dict[str, Any]:
    from softhat.frontends.regular.regex import read_regex
    from softhat.frontends.regular.translate import language_of

    used = read_regex(asked["text"], _names_of(asked["alphabet"]) or None).alphabet
    alphabet = _alphabet(asked, used)
    return _compiled(
        language_of(read_regex(asked["text"], alphabet), mod=True).formula, asked, used
    )


def _program(asked: Mapping[str, str]) -> dict[str, Any]:
    from softhat.frontends.programs.translate import from_program
    from softhat.frontends.programs.translate import symbols_of as named

    return _compiled(from_program(asked["text"]), asked, named(asked["text"]))


def _compiled(formula: Formula, asked: Mapping[str, str], used: Iterable[str]) -> dict[str, Any]:
    """A formula over the alphabet that was given, or over `used` and the symbols of the word."""
    used = frozenset(used)
    origin: AlphabetFrom = "given" if asked["alphabet"].strip() else "inferred"
    return _view(formula, tuple(_alphabet(asked, used)), False, _attention(asked), origin, used)


@lru_cache(maxsize=VIEWS)
def _view(
    formula: Formula,
    names: tuple[str, ...],
    propositional: bool,
    attention: Attention,
    alphabet_from: AlphabetFrom,
    used: frozenset[str],
) -> dict[str, Any]:
    """The view of a formula's model, for reading only. One that was asked for is not compiled and
    proved again: while a word or a bracket is typed all that a proof reads is the same."""
    kind: Any = {"propositions" if propositional else "alphabet": names}
    model = compile_formula(formula, attention=attention, **kind)
    return view_of_model(model, alphabet_from, used)


def _ahat(asked: Mapping[str, str]) -> dict[str, Any]:
    """A name of the gallery, or one's own as JSON."""
    from softhat.ahat.file import loads
    from softhat.ahat.gallery import GALLERY
    from softhat.ahat.simulation.simulate import simulate

    name = asked["text"].strip()
    if name.startswith("{"):
        return view_of_simulation(simulate(loads(name)))
    if name not in GALLERY:
        raise SofthatError(f"no {name!r} in the gallery: {', '.join(GALLERY)}")
    return view_of_simulation(simulate(GALLERY[name]()))


def _rasp(asked: Mapping[str, str]) -> dict[str, Any]:
    """A program of the library: what is typed here is a name, and never run."""
    from softhat.frontends.rasp.gallery import example_of

    example = example_of(asked["text"].strip())
    length = max(RASP_LENGTH, min(len(asked["word"]), MOST_RASP))
    model = compile_formula(
        example.make(length),
        alphabet=example.alphabet,
        max_length=length,
        attention=_attention(asked),
    )
    return view_of_values(model)


def _zoo(asked: Mapping[str, str]) -> dict[str, Any]:
    from softhat.models import zoo

    entry = zoo.entry(asked["text"].strip())
    if entry.kind == "ahat":
        return _ahat({**asked, "text": entry.source})
    if entry.kind == "rasp":
        return _rasp({**asked, "text": entry.source})
    return view_of_model(zoo.model(entry.name, attention=_attention(asked)))


KINDS: dict[str, Callable[[Mapping[str, str]], dict[str, Any]]] = {
    "formula": _formula,
    "regex": _regex,
    "program": _program,
    "rasp": _rasp,
    "ahat": _ahat,
    "zoo": _zoo,
}
"""The kinds of input, in the order in which the page offers them."""


def _alphabet(asked: Mapping[str, str], used: Iterable[str]) -> list[str]:
    """What was given, or the symbols of the input and of the word."""
    used = set(used)
    given = asked["alphabet"].strip()
    if given:
        names = _names_of(given)
    else:
        word = asked["word"].strip()
        long = any(len(symbol) > 1 for symbol in used)
        in_word = word.split() if long or any(c.isspace() for c in word) else list(word)
        names = sorted({*used, *in_word}) or ["a"]
    if len(names) > MOST_SYMBOLS:
        raise FieldError("alphabet", f"the alphabet has more than {MOST_SYMBOLS} symbols")
    return names


def _names_of(given: str) -> list[str]:
    """An alphabet as people write it: characters, or names with spaces or commas."""
    separated = any(c.isspace() or c == "," for c in given.strip())
    return list(dict.fromkeys(_names(given) if separated else given.strip()))


def _names(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _text(request: Mapping[str, Any], name: str) -> str:
    value = request.get(name, "")
    if not isinstance(value, str):
        raise SofthatError(f"{name} must be text")
    return value
