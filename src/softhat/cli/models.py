"""How commands read a model: a model folder, or a formula that is compiled on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from softhat.cli.inputs import read_alphabet, read_formula, read_words
from softhat.errors import SofthatError
from softhat.logic.words import Word
from softhat.transformer.compile import compile as compile_formula
from softhat.transformer.files import load
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


def read_model(
    argument: str,
    alphabet: str | None = None,
    attention: Attention = "unbounded",
    symbols: bool = False,
    props: bool = False,
) -> Any:
    """The model in a folder, or the compiled formula."""
    if Path(argument).is_dir():
        if alphabet is not None:
            raise SofthatError("a model folder has its alphabet: leave --alphabet out")
        return load(argument)
    known = read_alphabet(alphabet, symbols, props)
    formula = read_formula(argument, known, props)
    if not props:
        return compile_formula(formula, alphabet=known, attention=attention)
    from softhat.logic.fragments import symbols_of

    names = known if known is not None else sorted(symbols_of(formula))
    return compile_formula(formula, propositions=names, attention=attention)


def read_model_words(
    model: Any, arguments: list[str], symbols: bool = False, props: bool = False
) -> list[Word]:
    """Words as the model reads them: sets, tokens if a symbol is long, else characters."""
    transformer = getattr(model, "transformer", None)
    if transformer is not None:
        props = props or transformer.propositional
        symbols = symbols or (not props and any(len(s) > 1 for s in transformer.symbols))
    return read_words(arguments, symbols and not props, props)
