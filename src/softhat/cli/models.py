"""How commands read a model: a model folder, or a formula that is compiled on the spot."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from softhat.cli.inputs import (
    are_tokens,
    check_standard_input,
    read_alphabet,
    read_given,
    read_words,
)
from softhat.compiler import compile as compile_formula
from softhat.errors import SofthatError
from softhat.folders import load
from softhat.logic.fragments import symbols_of
from softhat.logic.semantics.words import Word
from softhat.model import Model
from softhat.transformer.weights import Attention

ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="A model folder, or a formula (@file, - for standard input)."
    ),
]
AttentionOption = Annotated[
    Attention,
    typer.Option("--attention", help="For a formula: the target to compile to."),
]
DtypeOption = Annotated[str, typer.Option("--dtype", help="float16, bfloat16, float32 or float64.")]
OutputNameOption = Annotated[
    str | None, typer.Option("--output", help="Which output of a model with several.")
]


def is_folder(argument: str) -> bool:
    """Is it a model's folder? A formula may be longer than any file name, or no name at all."""
    return os.path.isdir(argument)  # noqa: PTH112 - Path.is_dir raises where the name is too long


def read_model(
    argument: str,
    alphabet: str | None = None,
    attention: Attention = "unbounded",
    symbols: bool = False,
    props: bool = False,
) -> Any:
    """The model in a folder, or the compiled formula."""
    if is_folder(argument):
        if alphabet is not None:
            raise SofthatError("a model folder has its alphabet: leave --alphabet out")
        return load(argument)
    known = read_alphabet(alphabet, symbols, props)
    given = read_given(argument, known, props)
    if not props:
        return compile_formula(given.formula, alphabet=given.alphabet, attention=attention)
    names = known if known is not None else sorted(symbols_of(given.formula))
    return compile_formula(given.formula, propositions=names, attention=attention)


def read_model_and_words(
    argument: str,
    arguments: list[str],
    alphabet: str | None,
    attention: Attention,
    symbols: bool,
    props: bool,
) -> tuple[Any, list[Word]]:
    """A model and the words to run it on.

    The words of a folder's model are read as it needs them: sets, tokens if a symbol is long,
    else characters. A formula without an alphabet gets its own symbols and the words'.
    """
    check_standard_input(argument, arguments)
    if is_folder(argument):
        model = read_model(argument, alphabet)
        if isinstance(model, Model):
            known = model.transformer
            props = known.propositional
            symbols = not props and are_tokens(symbols, props, known.symbols)
        return model, read_words(arguments, symbols, props)
    given = read_given(argument, read_alphabet(alphabet, symbols, props), props)
    words = read_words(arguments, are_tokens(symbols, props, given.alphabet), props)
    names = given.alphabet
    if names is None:
        found = set(symbols_of(given.formula))
        names = tuple(sorted(found if props else found | {str(s) for w in words for s in w}))
    if props:
        return compile_formula(given.formula, propositions=names, attention=attention), words
    return compile_formula(given.formula, alphabet=names, attention=attention), words
