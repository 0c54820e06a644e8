"""A regular language in logarithmic depth as a stock decoder: its program, its file, its meaning.

A decoder has a context, so the rounds of the doubling are unrolled: ⌈log₂(context - 1)⌉ blocks. The
folder states the automaton in `language.json`, and the checker compares the weights with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softhat.frontends.regular.doubling import MEMBER, LogDepth, check_same, doubled
from softhat.io.errors import SofthatError
from softhat.io.files import json_bytes, read_json
from softhat.program.signals import Program
from softhat.proof.stock.automata import Acceptor, next_symbols

LANGUAGE = "language.json"
"""The automaton whose language a model decides."""


@dataclass(frozen=True)
class StockLanguage:
    """A regular language that is exported where otherwise a model is."""

    automaton: Acceptor
    claims: Mapping[str, Acceptor]
    """What the outputs are claimed to compute."""
    program: Program
    machine: None = None

    @property
    def formulas(self) -> dict[str, Acceptor]:
        """What the folder states."""
        return {MEMBER: self.automaton}


def stock_language(
    language: LogDepth, symbols: tuple[str, ...], context: int, is_lm: bool
) -> StockLanguage:
    """The language for words of a decoder with this context: of every prefix whether it belongs, or
    of a language model which symbols may come next."""
    dfa = language.dfa
    check_same(symbols, dfa.alphabet)
    places = [dfa.alphabet.index(symbol) for symbol in symbols]
    step = tuple(tuple(row[k] for k in places) for row in dfa.step)
    automaton = Acceptor(symbols, step, dfa.accepting)
    claims = next_symbols(automaton) if is_lm else {MEMBER: automaton}
    outputs = {name: one.accepting for name, one in claims.items()}
    program = doubled(language, symbols, context - 1, shifts=True, outputs=outputs)
    return StockLanguage(automaton, claims, program)


def document_of(automaton: Acceptor) -> dict[str, Any]:
    """An automaton as it is stored."""
    return {
        "alphabet": list(automaton.alphabet),
        "step": [list(row) for row in automaton.step],
        "accepting": sorted(automaton.accepting),
    }


def language_file(automaton: Acceptor) -> dict[str, bytes]:
    """What the weights are claimed to compute, as the folder states it."""
    return {LANGUAGE: json_bytes(document_of(automaton))}


def language_of(folder: Path, symbols: tuple[str, ...]) -> dict[str, Acceptor] | None:
    """The language that a folder says it decides; None if it says something else."""
    if not (folder / LANGUAGE).exists():
        return None
    document = read_json(folder / LANGUAGE, inside=folder)
    return {MEMBER: acceptor_from(document, symbols, f"{folder}/{LANGUAGE}")}


def acceptor_from(document: Any, symbols: tuple[str, ...], where: str) -> Acceptor:
    """The automaton over these symbols that a document is."""
    try:
        alphabet, step, accepting = (document.pop(key) for key in ("alphabet", "step", "accepting"))
        if document or alphabet != list(symbols):
            raise SofthatError(f"{where}: other keys, or another alphabet than the tokenizer's")
        rows = tuple(tuple(map(_state, row)) for row in step)
        return Acceptor(symbols, rows, frozenset(map(_state, accepting)))
    except (AttributeError, KeyError, TypeError) as error:
        raise SofthatError(f"{where} is no automaton ({error}): export the model again") from None


def _state(number: Any) -> int:
    if type(number) is not int:
        raise TypeError(f"{number!r} is no state")
    return number
