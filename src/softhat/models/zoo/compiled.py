"""What users do with an entry of the zoo by its name: list, read, compile."""

from __future__ import annotations

from typing import Any

from softhat.logic.syntax.nodes import Formula
from softhat.models.zoo.catalogue import entry_of, formula_of, zoo
from softhat.models.zoo.entry import Entry
from softhat.transformer.weights import Attention

RASP_LENGTH = 64
"""The longest word of a RASP program, where none is asked for."""


def names() -> list[str]:
    """The names of all languages and tasks, in the order of the guide's page."""
    return list(zoo())


def entry(name: str) -> Entry:
    """What is known about it: its title, its source, its alphabet, an example."""
    return entry_of(name)


def formula(name: str) -> Formula:
    """The formula of a language that has one."""
    return formula_of(entry_of(name))


def model(name: str, attention: Attention = "unbounded", max_length: int = RASP_LENGTH) -> Any:
    """The model: compiled from a formula, or from a RASP program for words to `max_length`; or the
    hard-attention transformer itself, to be analysed and simulated."""
    from softhat.models.compiler import compile as compile_anything

    described = entry_of(name)
    if described.kind == "ahat":
        from softhat.ahat.gallery import GALLERY

        return GALLERY[described.source]()
    if described.kind == "rasp":
        from softhat.frontends.rasp.gallery import example_of

        example = example_of(described.source)
        return compile_anything(
            example.make(max_length),
            alphabet=example.alphabet,
            max_length=max_length,
            attention=attention,
        )
    given: Any = {"propositions" if described.propositional else "alphabet": described.alphabet}
    return compile_anything(formula_of(described), attention=attention, at=described.at, **given)
