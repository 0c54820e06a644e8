"""How commands read a model: a model folder, or a formula that is compiled on the spot."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softhat.cli.inputs import (
    are_tokens,
    check_standard_input,
    read_alphabet,
    read_given,
    read_words,
)
from softhat.cli.rasp import is_rasp, read_rasp, to_tokens
from softhat.compiler import compile as compile_formula
from softhat.errors import SofthatError
from softhat.files import is_file, is_folder
from softhat.folders import load
from softhat.logic.fragments import symbols_of
from softhat.logic.semantics.words import Word
from softhat.model import Model
from softhat.transformer.weights import Attention
from softhat.value_model import ValueModel

if TYPE_CHECKING:
    from softhat.ahat.model import AHAT

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


_PATH = re.compile(r"[\w.~+-]*/[\w./~+-]*|[\w~+-]*[A-Za-z_~][\w~+-]*\.\w+", re.ASCII)
"""What nobody writes as a formula: a name with a slash in it, or with a suffix."""
_NAME = re.compile(r"[A-Za-z_]\w+", re.ASCII)


def is_ahat(argument: str) -> bool:
    """Is it the file of an AHAT? Such files are JSON."""
    return argument.endswith(".json") and is_file(argument)


def read_ahat(argument: str, alphabet: str | None) -> AHAT:
    from softhat.ahat.file import load as load_ahat

    if alphabet is not None:
        raise SofthatError("an AHAT has its alphabet: leave --alphabet out")
    return load_ahat(argument)


def refuse_ahat(read: Any, argument: str) -> None:
    """Only softmax models can be exported, certified or verified."""
    from softhat.ahat.model import AHAT

    if isinstance(read, AHAT):
        raise SofthatError(
            f"{argument} is an AHAT: make a softmax model of it, softhat simulate {argument} -o DIR"
        )


def check_name(argument: str, alphabet: str | None, words: Sequence[Word] = ()) -> None:
    """Refuse the name of a folder that is not there; it is not meant as a formula.

    A name such as `modle` could be a symbol: it is one if the words have it, if an alphabet is
    given (then the parser knows better), or if no folder is called nearly so.
    """
    path = _PATH.fullmatch(argument) if "//" not in argument else None
    if path is None and (_NAME.fullmatch(argument) is None or alphabet is not None):
        return
    items = [item for word in words if not isinstance(word, str) for item in word]
    if path is None and any(argument == x or not isinstance(x, str) for x in items):
        return  # a token of the words, or a proposition, which words need not have
    parent, name = os.path.split(argument.rstrip("/"))
    try:
        there = sorted(path.name for path in Path(parent or ".").iterdir())
    except OSError:
        there = []
    near = difflib.get_close_matches(name, there, 1, 0.7)
    if path is None and not near and not words:
        return
    hint = f": did you mean {Path(parent) / near[0]}?" if near else ""
    symbol = f" (for the symbol {argument} write \"'{argument}'\")" if path is None else ""
    raise SofthatError(f"no such folder or file: {argument}{hint}{symbol}")


def read_model(
    argument: str,
    alphabet: str | None = None,
    attention: Attention = "unbounded",
    symbols: bool = False,
    props: bool = False,
) -> Any:
    """The model in a folder, the AHAT in a file, or the compiled formula."""
    if is_folder(argument):
        if alphabet is not None:
            raise SofthatError("a model folder has its alphabet: leave --alphabet out")
        return load(argument)
    if is_ahat(argument):
        return read_ahat(argument, alphabet)
    if is_rasp(argument):
        return read_rasp(argument, read_alphabet(alphabet, symbols), attention)
    check_name(argument, alphabet)
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
    if is_folder(argument) or is_rasp(argument):
        model = read_model(argument, alphabet, attention, symbols)
        if isinstance(model, Model | ValueModel):
            known = model.transformer
            props = known.propositional
            symbols = not props and are_tokens(symbols, props, known.symbols)
        words = read_words(arguments, symbols, props)
        if isinstance(model, ValueModel):
            return model, [to_tokens(model, word) for word in words]
        return model, words
    if is_ahat(argument):
        hard = read_ahat(argument, alphabet)
        return hard, read_words(arguments, are_tokens(symbols, False, hard.alphabet), False)
    check_name(argument, alphabet or "")  # a path is none, whatever the words are
    given = read_given(argument, read_alphabet(alphabet, symbols, props), props)
    words = read_words(arguments, are_tokens(symbols, props, given.alphabet), props)
    check_name(argument, alphabet, words)
    names = given.alphabet
    if names is None:
        found = set(symbols_of(given.formula))
        names = tuple(sorted(found if props else found | {str(s) for w in words for s in w}))
    if props:
        return compile_formula(given.formula, propositions=names, attention=attention), words
    return compile_formula(given.formula, alphabet=names, attention=attention), words
