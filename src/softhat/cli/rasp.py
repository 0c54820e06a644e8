"""RASP programs on the command line: `file.py:NAME`, and what models of them answer.

The file is run as Python, because that is what the argument asks for. It may say `alphabet` and
`max_length` itself; options come first. `file.py:NAME@128` is the program to length 128. A program
of the zoo, `zoo:rasp-NAME`, may stand in the place of a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from softhat.cli.inputs import RASP
from softhat.cli.output import print_json, print_table
from softhat.io.errors import SofthatError
from softhat.io.files import is_file

if TYPE_CHECKING:
    from softhat.frontends.rasp.language import SOp
    from softhat.models.value_model import ValueModel
    from softhat.transformer.weights import Attention

LENGTH = 64
"""Without another one."""


def is_rasp(argument: str) -> bool:
    """Does it name a program in a Python file?"""
    return RASP.fullmatch(argument) is not None


@dataclass(frozen=True, slots=True)
class AskedProgram:
    """A program, its tokens if they are known, and its length if one is said."""

    program: SOp
    tokens: list[Any] | None
    max_length: int
    where: str


def read_rasp(
    argument: str,
    alphabet: list[str] | None,
    attention: Attention,
    max_length: int | None = None,
    causal: bool = False,
) -> ValueModel:
    """The compiled program of `file.py:NAME`."""
    from softhat.models.compiler import compile as compile_program

    asked = read_program(argument, alphabet, max_length)
    if asked.tokens is None:
        raise SofthatError(f"give --alphabet, or say alphabet = [...] in {asked.where}")
    model: ValueModel = compile_program(
        asked.program,
        alphabet=asked.tokens,
        attention=attention,
        max_length=asked.max_length,
        causal=causal,
    )
    return model


def read_program(
    argument: str, alphabet: list[str] | None = None, max_length: int | None = None
) -> AskedProgram:
    """The program of `file.py:NAME` or `zoo:rasp-NAME`."""
    from softhat.frontends.rasp.gallery import example_of  # most commands need no RASP
    from softhat.frontends.rasp.language import SOp

    parts = RASP.fullmatch(argument)
    assert parts is not None  # is_rasp
    if parts["entry"]:
        to = int(parts["length"] or max_length or LENGTH)
        example = example_of(parts["entry"])
        return AskedProgram(example.make(to), _tokens(alphabet, example.alphabet), to, argument)
    path, name = parts["file"], parts["name"]
    if not is_file(path):
        raise SofthatError(f"no such file: {path}")
    defined = _run(path)
    if name not in defined:
        programs = ", ".join(key for key, value in defined.items() if isinstance(value, SOp))
        raise SofthatError(f"{path} defines no {name}; its RASP programs: {programs or 'none'}")
    program = defined[name]
    if callable(program) and not isinstance(program, SOp):
        program = _called(program, f"{path}:{name}")
    if not isinstance(program, SOp):
        raise SofthatError(f"{path}:{name} is no RASP program, but {type(program).__name__}")
    length = parts["length"] or max_length or defined.get("max_length") or LENGTH
    return AskedProgram(program, _tokens(alphabet, defined.get("alphabet")), int(length), path)


def _run(path: str) -> dict[str, Any]:
    import runpy

    try:
        return runpy.run_path(path)
    except SofthatError:
        raise
    except Exception as error:  # whatever a user's file may raise
        raise SofthatError(f"{path} raises {type(error).__name__}: {error}") from None


def _called(function: Any, what: str) -> Any:
    try:
        return function()
    except TypeError as error:
        raise SofthatError(f"{what} cannot be called without arguments: {error}") from None


def _tokens(given: list[str] | None, own: Any) -> list[Any] | None:
    """The alphabet of the option, whose names may stand for the file's tokens, or the file's."""
    if given is None:
        return None if own is None else list(own)
    by_name = {str(token): token for token in own or ()}
    return [by_name.get(name, name) for name in given]


def to_tokens(model: ValueModel, word: Any) -> list[Any]:
    """A word of the command line as tokens of the model, by their names."""
    return named_tokens(model.alphabet, word, model.transformer.symbols)


def named_tokens(alphabet: Sequence[Any], word: Any, symbols: Sequence[str] = ()) -> list[Any]:
    """The tokens whose names (or symbols, if there are) stand in a word."""
    names = dict(zip(symbols, alphabet, strict=False)) | {str(token): token for token in alphabet}
    for item in word:
        if item not in names:
            known = " ".join(map(str, alphabet[:20]))
            raise SofthatError(f"{item} is not in the alphabet: expected one of {known}")
    return [names[item] for item in word]


def print_values(words: list[Any], outputs: list[list[Any]], as_json: bool) -> None:
    """The value at each position of words."""
    pairs = list(zip(words, outputs, strict=True))
    if as_json:
        print_json([{"word": _plain(word), "values": _plain(values)} for word, values in pairs])
        return
    rows = [
        [" ".join(map(str, word[:_SHOWN])), " ".join(map(_shown, values[:_SHOWN]))]
        for word, values in pairs
    ]
    print_table(["word", "values"], rows)


_SHOWN = 60
"""Positions of a word in a table; --json gives all."""


def _plain(value: Any) -> Any:
    """A value as JSON."""
    return list(map(_plain, value)) if isinstance(value, tuple | list) else value


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
