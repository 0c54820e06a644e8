"""What the commands that decide have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from softhat.cli import inputs
from softhat.cli.alphabets import is_inferred, note_inferred
from softhat.cli.output import print_json, say
from softhat.io.errors import SofthatError
from softhat.logic.fragments import symbols_of
from softhat.logic.semantics.truth import truth
from softhat.logic.semantics.words import Word
from softhat.logic.syntax.nodes import Formula

UpToOption = Annotated[
    int | None,
    typer.Option(
        "--up-to",
        metavar="N",
        help="Only words of at most N symbols. Formulas that count need it, unless a proof is "
        "easy.",
    ),
]
SecondArgument = Annotated[
    str, typer.Argument(metavar="FORMULA", help="The other one, @file, or - for standard input.")
]


def kind_of_words(known: Sequence[str] | None, props: bool, *formulas: Formula) -> dict[str, Any]:
    """What words are made of, as the questions take it: what is known, or what formulas name."""
    return {"propositions" if props else "alphabet": known or symbols_of(*formulas) or ["a"]}


def read_both(
    first: str, second: str, alphabet: str | None, props: bool
) -> tuple[Formula, Formula, dict[str, Any]]:
    """Two formulas, and what words are made of: the alphabet, or what both name."""
    if first == second == "-":
        raise SofthatError("standard input holds one formula: use @file for the other")
    known = inputs.read_alphabet(alphabet, props=props)
    f, g = inputs.read_given(first, known, props), inputs.read_given(second, known, props)
    names = known or f.alphabet or g.alphabet
    words = kind_of_words(names, props, f.formula, g.formula)
    if is_inferred(first, alphabet) and is_inferred(second, alphabet):
        note_inferred([name for known in words.values() for name in known], "the formulas")
    return f.formula, g.formula, words


def comparing(name: str, question: Callable[..., Word | None], help: str) -> Callable[..., None]:
    """The command that asks this question of two formulas."""

    def command(
        formula: inputs.FormulaArgument,
        other: SecondArgument,
        alphabet: inputs.AlphabetOption = None,
        props: inputs.PropsOption = False,
        up_to: UpToOption = None,
        as_json: inputs.JsonOption = False,
    ) -> None:
        f, g, words = read_both(formula, other, alphabet, props)
        _answer(name, question(f, g, **words, up_to=up_to), (f, g), up_to, as_json)

    command.__doc__ = help
    return command


def _answer(
    name: str,
    word: Word | None,
    formulas: tuple[Formula, Formula],
    up_to: int | None,
    as_json: bool,
) -> None:
    """Print the answer; exit code 1 for a word against it."""
    if as_json:
        truths = None if word is None else [truth(f, word).tolist() for f in formulas]
        print_json(
            {
                name: word is None,
                "word": None if word is None else inputs.plain_word(word),
                "truth": truths,
                "up_to": up_to,
            }
        )
    elif word is None:
        lengths = "every length" if up_to is None else f"at most {up_to} symbols"
        say(f"{name}: yes, on words of {lengths}")
    else:
        say(f"{name}: no, see {inputs.show_word(word)}")
        for formula in formulas:
            say("  " + " ".join("10"[not value] for value in truth(formula, word)) + f" {formula}")
    if word is not None:
        raise typer.Exit(1)
