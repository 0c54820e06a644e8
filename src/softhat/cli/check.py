"""`softhat check`: what a formula is."""

from __future__ import annotations

from dataclasses import asdict

from softhat.cli import inputs
from softhat.cli.alphabets import is_inferred, shown_alphabet, warn_if_trivial
from softhat.cli.eval import AtOption
from softhat.cli.log_depth import check_language, is_log_depth
from softhat.cli.output import print_facts, print_json
from softhat.cli.questions import kind_of_words
from softhat.logic.core import to_core
from softhat.logic.decide.judge import Judgement, judge
from softhat.logic.fragments import Description, describe
from softhat.logic.optimise.settle import settled
from softhat.logic.optimise.simplify import simplify
from softhat.logic.syntax.nodes import Node
from softhat.logic.syntax.print import to_text, to_unicode

_SHOWN_WORD = 100  # symbols of a word
_SHOWN = 2_000  # characters of a form; --json gives all


def command(
    formula: inputs.FormulaArgument,
    alphabet: inputs.AlphabetOption = None,
    props: inputs.PropsOption = False,
    at: AtOption = None,
    as_json: inputs.JsonOption = False,
) -> None:
    """What a formula is: forms, fragment, depth, whether it is satisfiable and valid.

    Example: softhat check '!c S a' --alphabet abc
    """
    if is_log_depth(formula):
        check_language(formula, inputs.read_alphabet(alphabet, props=props), as_json)
        return
    given = inputs.read_given(formula, inputs.read_alphabet(alphabet, props=props), props)
    parsed = given.formula
    description = describe(parsed)
    simplified = simplify(parsed)
    words = kind_of_words(given.alphabet, props, parsed)
    judged = judge(parsed, **words, at=at or given.at)
    symbols = next((list(names) for names in words.values() if names), description.symbols)
    inferred = is_inferred(formula, alphabet)
    if inferred and not props and description.temporal_depth:  # else `valid` says it below
        warn_if_trivial([parsed], symbols)
    simplified = settled(simplified, tuple(symbols) or ("a",), props)  # as it is compiled
    forms: dict[str, Node] = {"simplified": simplified, "core": to_core(parsed)}
    text = to_text(parsed)
    texts = {name: text if form is parsed else to_text(form) for name, form in forms.items()}
    if as_json:
        print_json(
            {
                "formula": text,
                "pretty": to_unicode(parsed),
                **texts,
                **asdict(description),
                "alphabet": list(symbols),
                "alphabet_inferred": inferred,
                **_judgement(judged),
                **_language(given),
            }
        )
        return
    print_facts(
        [
            ("formula", _short(text)),
            ("pretty", _short(to_unicode(parsed))),
            ("alphabet", shown_alphabet(symbols, inferred)),
            *((name, _short(form)) for name, form in texts.items()),
            *_facts(description, judged.where),
            *_judgement_facts(judged),
            *_language_facts(given),
        ]
    )


def _language(given: inputs.Given) -> dict[str, bool | int | str | None]:
    """Facts about a regular language that no formula tells: the empty word has no position."""
    if given.states is None:
        return {}
    return {
        "empty_word": given.has_empty_word,
        "states": given.states,
        "star_free_level": given.level,
        "least_depth": given.least_depth,
    }


def _language_facts(given: inputs.Given) -> list[tuple[str, str]]:
    if given.states is None:
        return []
    belongs = "belongs to the language" if given.has_empty_word else "does not belong"
    return [
        ("automaton", f"{given.states} states"),
        ("empty word", belongs),
        ("star-free level", str(given.level)),
        ("least depth", str(given.least_depth)),
    ]


def _judgement(judged: Judgement) -> dict[str, object]:
    model, against = judged.model, judged.counterexample
    return {
        "satisfiable": judged.satisfiable,
        "model": None if model is None else inputs.plain_word(model),
        "valid": judged.valid,
        "counterexample": None if against is None else inputs.plain_word(against),
    }


def _judgement_facts(judged: Judgement) -> list[tuple[str, str]]:
    """Shortest words for and against, or why they are not known."""
    anywhere = judged.where == "anywhere"
    true, false = ("true in", "false in") if anywhere else ("accepts", "rejects")
    facts = []
    for name, answer, word, shows in (
        ("satisfiable", judged.satisfiable, judged.model, true),
        ("valid", judged.valid, judged.counterexample, false),
    ):
        shown = "not decided" if answer is None else "yes" if answer else "no"
        if word is not None:
            shown += f": {shows} {inputs.show_word(word, _SHOWN_WORD)}"
        elif answer is None:
            shown += f": {judged.reason}"
        facts.append((name, shown))
    return facts


def _facts(known: Description, judged_at: str) -> list[tuple[str, str]]:
    chosen = known.acceptance or (judged_at if judged_at != "anywhere" else None)
    where = f"at the {chosen} position" if chosen else "say --at first or last"
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
