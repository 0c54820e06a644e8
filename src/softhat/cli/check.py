"""`softhat check`: what a formula is."""

from __future__ import annotations

from dataclasses import asdict

from softhat.cli.inputs import (
    AlphabetOption,
    FormulaArgument,
    Given,
    JsonOption,
    PropsOption,
    read_alphabet,
    read_given,
)
from softhat.cli.output import print_facts, print_json
from softhat.logic.core import simplify, to_core
from softhat.logic.fragments import Description, describe
from softhat.logic.syntax.nodes import Node
from softhat.logic.syntax.print import to_text, to_unicode

_SHOWN = 2_000  # characters of a form; --json gives all


def command(
    formula: FormulaArgument,
    alphabet: AlphabetOption = None,
    props: PropsOption = False,
    as_json: JsonOption = False,
) -> None:
    """What a formula is: pretty form, fragment, depth, simplified and core form.

    Example: softhat check '!c S a'
    """
    given = read_given(formula, read_alphabet(alphabet, props=props), props)
    parsed = given.formula
    description = describe(parsed)
    forms: dict[str, Node] = {"simplified": simplify(parsed), "core": to_core(parsed)}
    if as_json:
        print_json(
            {
                "formula": to_text(parsed),
                "pretty": to_unicode(parsed),
                **{name: to_text(form) for name, form in forms.items()},
                **asdict(description),
                **_language(given),
            }
        )
        return
    print_facts(
        [
            ("formula", _short(to_text(parsed))),
            ("pretty", _short(to_unicode(parsed))),
            *((name, _short(to_text(form))) for name, form in forms.items()),
            *_facts(description),
            *_language_facts(given),
        ]
    )


def _language(given: Given) -> dict[str, bool | int | None]:
    """Of a regular language: the empty word has no position, so no formula tells."""
    if given.states is None:
        return {}
    return {"empty_word": given.has_empty_word, "states": given.states}


def _language_facts(given: Given) -> list[tuple[str, str]]:
    if given.states is None:
        return []
    belongs = "belongs to the language" if given.has_empty_word else "does not belong"
    return [("automaton", f"{given.states} states"), ("empty word", belongs)]


def _facts(known: Description) -> list[tuple[str, str]]:
    where = f"at the {known.acceptance} position" if known.acceptance else "say --at first or last"
    return [
        ("fragment", known.fragment),
        ("depth", str(known.temporal_depth)),
        ("size", f"{known.size} nodes, {known.distinct_subformulas} distinct subformulas"),
        ("symbols", " ".join(known.symbols) or "none"),
        ("decoder", "yes" if known.is_decoder else "no"),
        ("accepts", where),
    ]


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text):,} characters)"
