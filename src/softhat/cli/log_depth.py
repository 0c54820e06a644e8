"""Regular languages in logarithmic depth on the command line: `--regex … --depth log`.

`--depth log@4096` says the longest word. `front_ends` puts that before the mark of the expression
or automaton, so a command sees one argument: `log@4096 regex:(aa)*`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from softhat.cli.inputs import read_automaton
from softhat.io.errors import SofthatError
from softhat.models.compiler import compile as compile_language
from softhat.transformer.weights import Attention

if TYPE_CHECKING:
    from softhat.models.value_model import ValueModel

LENGTH = 1_024
"""Without another one."""
_MARKED = re.compile(r"log(?:@(?P<length>\d{1,9}))? (?P<mark>regex:|dfa:)(?P<source>.*)", re.DOTALL)


def is_log_depth(argument: str) -> bool:
    """Is it a regular language that is to be computed in logarithmic depth?"""
    return _MARKED.fullmatch(argument) is not None


def read_log_depth(
    argument: str,
    alphabet: list[str] | None,
    attention: Attention,
    max_length: int | None = None,
) -> ValueModel:
    """The model of such a language."""
    from softhat.frontends.regular.doubling import log_depth  # most commands need none

    marked = _MARKED.fullmatch(argument)
    assert marked is not None  # is_log_depth
    said = marked["length"]
    if said and max_length is not None and int(said) != max_length:
        raise SofthatError(f"--depth log@{said} and --max-length {max_length} differ: give one")
    longest = int(said) if said else max_length or LENGTH
    dfa = read_automaton(marked["mark"], marked["source"], alphabet)
    text = marked["source"] if marked["mark"] == "regex:" else "automaton"
    model: ValueModel = compile_language(
        log_depth(dfa, text), attention=attention, max_length=longest
    )
    return model
