"""`softhat satisfiable`: is there a word that a formula accepts?"""

from __future__ import annotations

import typer

from softhat.cli import inputs
from softhat.cli.alphabets import is_inferred, note_inferred
from softhat.cli.eval import AtOption
from softhat.cli.output import print_json, say
from softhat.cli.questions import UpToOption, kind_of_words
from softhat.logic.decide.questions import satisfiable
from softhat.logic.semantics.truth import resolve_at


def command(
    formula: inputs.FormulaArgument,
    alphabet: inputs.AlphabetOption = None,
    props: inputs.PropsOption = False,
    at: AtOption = None,
    up_to: UpToOption = None,
    as_json: inputs.JsonOption = False,
) -> None:
    """The shortest word that a formula accepts, of any length; exit code 1 if there is none.

    Example: softhat satisfiable 'H (a -> Y b) & #(a) >= 2' --alphabet ab
    """
    given = inputs.read_given(formula, inputs.read_alphabet(alphabet, props=props), props)
    where = resolve_at(given.formula, at or given.at)
    words = kind_of_words(given.alphabet, props, given.formula)
    symbols = [name for names in words.values() for name in names]
    inferred = is_inferred(formula, alphabet)
    if inferred:
        note_inferred(symbols)
    word = satisfiable(given.formula, **words, at=where, up_to=up_to)
    if as_json:
        print_json(
            {
                "satisfiable": word is not None,
                "word": None if word is None else inputs.plain_word(word),
                "at": where,
                "alphabet": symbols,
                "alphabet_inferred": inferred,
                "up_to": up_to,
            }
        )
    else:
        say(f"no word{_of(up_to)} is accepted" if word is None else inputs.show_word(word))
    if word is None:
        raise typer.Exit(1)


def _of(up_to: int | None) -> str:
    return " of any length" if up_to is None else f" of at most {up_to} symbols"
