"""RASP programs on the command line: `file.py:NAME`, and what models of them answer.

The file is run as Python, because that is what the argument asks for. It may say `alphabet` and
`max_length` itself; options come first. `file.py:NAME@128` is the program to length 128.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from softhat.compiler import compile as compile_program
from softhat.errors import SofthatError
from softhat.transformer.weights import Attention

if TYPE_CHECKING:
    from softhat.value_model import ValueModel

_PROGRAM = re.compile(r"(?P<file>.+\.py):(?P<name>[A-Za-z_]\w*)(?:@(?P<length>\d{1,9}))?")
LENGTH = 64
"""Without another one."""


def is_rasp(argument: str) -> bool:
    """Does it name a program in a Python file?"""
    return _PROGRAM.fullmatch(argument) is not None


def read_rasp(
    argument: str,
    alphabet: list[str] | None,
    attention: Attention,
    max_length: int | None = None,
    causal: bool = False,
) -> ValueModel:
    """The compiled program of `file.py:NAME`."""
    from softhat.frontends.rasp.language import SOp  # most commands need no RASP

    found = _PROGRAM.fullmatch(argument)
    assert found is not None  # is_rasp
    path, name = found["file"], found["name"]
    if not os.path.isfile(path):  # noqa: PTH113
        raise SofthatError(f"no such file: {path}")
    said = _run(path)
    if name not in said:
        programs = ", ".join(key for key, value in said.items() if isinstance(value, SOp))
        raise SofthatError(f"{path} defines no {name}; its RASP programs: {programs or 'none'}")
    program = said[name]
    if callable(program) and not isinstance(program, SOp):
        program = _called(program, f"{path}:{name}")
    if not isinstance(program, SOp):
        raise SofthatError(f"{path}:{name} is no RASP program, but {type(program).__name__}")
    tokens = _tokens(alphabet, said.get("alphabet"), path)
    length = found["length"] or max_length or said.get("max_length") or LENGTH
    model: ValueModel = compile_program(
        program, alphabet=tokens, attention=attention, max_length=int(length), causal=causal
    )
    return model


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


def _tokens(given: list[str] | None, said: Any, path: str) -> list[Any]:
    """The alphabet of the option, whose names may stand for the file's tokens, or the file's."""
    if given is None and said is None:
        raise SofthatError(f"give --alphabet, or say alphabet = [...] in {path}")
    if given is None:
        return list(said)
    by_name = {str(token): token for token in said or ()}
    return [by_name.get(name, name) for name in given]


def to_tokens(model: ValueModel, word: Any) -> list[Any]:
    """A word of the command line as tokens of the model, by their names."""
    names = dict(zip(model.transformer.symbols, model.alphabet, strict=True))
    names |= {str(token): token for token in model.alphabet}
    for item in word:
        if item not in names:
            known = " ".join(map(str, model.alphabet[:20]))
            raise SofthatError(f"{item} is not in the alphabet: expected one of {known}")
    return [names[item] for item in word]


def plain(value: Any) -> Any:
    """A value as JSON."""
    return list(map(plain, value)) if isinstance(value, tuple) else value


def shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
