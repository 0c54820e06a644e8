"""Regular languages in logarithmic depth on the command line: `--regex … --depth log`.

`--depth log` is one block of weights, run as often as a word asks; `--depth log@4096` says the
longest word, and its rounds are so many layers. `--depth auto` takes a formula where there is one,
and counting where that is smaller. `front_ends` puts that before the mark of the expression or
automaton, so a command sees one argument: `log@4096 regex:(aa)*`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from softhat.cli.inputs import LOG, NOT_STAR_FREE, read_automaton
from softhat.cli.output import print_facts, print_json
from softhat.io.errors import SofthatError

if TYPE_CHECKING:
    from softhat.frontends.regular.dfa import DFA
    from softhat.models.model import Model
    from softhat.models.value_model import ValueModel
    from softhat.transformer.weights import Attention

LENGTH = 1_024
"""Without another one, where counting is compared with doubling."""


def is_log_depth(argument: str) -> bool:
    """Is it a regular language that may be computed in logarithmic depth?"""
    return LOG.fullmatch(argument) is not None


def read_log_depth(
    argument: str,
    alphabet: list[str] | None,
    attention: Attention,
    max_length: int | None = None,
) -> Model | ValueModel:
    """The model of such a language."""
    dfa, depth, text, longest = _read(argument, alphabet, max_length)
    return _model(dfa, depth, text, longest, attention)


def _read(
    argument: str, alphabet: list[str] | None, max_length: int | None
) -> tuple[DFA, str, str, int | None]:
    marked = LOG.fullmatch(argument)
    assert marked is not None  # is_log_depth
    given, depth = marked["length"], marked["depth"]
    if given and max_length is not None and int(given) != max_length:
        raise SofthatError(
            f"--depth {depth}@{given} and --max-length {max_length} differ: give one"
        )
    longest = int(given) if given else max_length or (LENGTH if depth == "auto" else None)
    dfa = read_automaton(marked["mark"], marked["source"], alphabet)
    return dfa, depth, marked["source"] if marked["mark"] == "regex:" else "automaton", longest


def _model(
    dfa: DFA, depth: str, text: str, longest: int | None, attention: Attention
) -> Model | ValueModel:
    from softhat.frontends.regular.doubling import LogDepth  # most commands need none
    from softhat.frontends.regular.translate import translated
    from softhat.models.compiler import compile as compile_language

    language = translated(dfa, text, False, depth, None)
    if isinstance(language, LogDepth):
        return compile_language(language, attention=attention, max_length=longest)
    return compile_language(language, alphabet=dfa.alphabet, attention=attention)


def depth_texts(argument: str, model: Model | ValueModel) -> dict[str, str]:
    """Which depth was taken, and why."""
    from softhat.models.value_model import ValueModel

    if isinstance(model, ValueModel):
        return {"language": model.name, "depth": str(model.depth)}
    marked = LOG.fullmatch(argument)
    assert marked is not None  # is_log_depth
    return {
        "language": marked["source"],
        "formula": str(next(iter(model.formulas.values()))),
        "depth": f"constant: {model.size.layers} layers at every length, because a formula "
        "defines the language",
    }


def check_language(argument: str, alphabet: list[str] | None, as_json: bool) -> None:
    """`softhat check` of a regular language: how it is computed, and the least depth known."""
    from softhat.frontends.regular.dfa import minimal
    from softhat.frontends.regular.least_depth import attained, least_depth
    from softhat.frontends.regular.levels import level_text
    from softhat.logic.fragments import describe
    from softhat.models.loop_model import LoopModel
    from softhat.models.value_model import ValueModel

    dfa, depth, text, longest = _read(argument, alphabet, None)
    least = minimal(dfa)
    model = _model(least, depth, text, longest, "unbounded")
    known = least_depth(least)
    deep = None
    if not isinstance(model, ValueModel):
        described = describe(next(iter(model.formulas.values())))
        deep = min(described.temporal_depth, model.size.layers)
    level = NOT_STAR_FREE if known.least is None else level_text(least, deep)
    facts = {
        **depth_texts(argument, model),
        "alphabet": " ".join(least.alphabet),
        "automaton": f"{len(least.step)} states",
        "empty word": "belongs to the language"
        if least.start in least.accepting
        else "does not belong",
        "layers": f"{model.size.layers}, run ⌈log₂ n⌉ times"
        if isinstance(model, LoopModel)
        else str(model.size.layers),
        "star-free level": level,
        "least depth": attained(known, len(model.transformer.layers)),
    }
    if as_json:
        print_json({re.sub("[ -]", "_", name): fact for name, fact in facts.items()})
    else:
        print_facts(list(facts.items()))
