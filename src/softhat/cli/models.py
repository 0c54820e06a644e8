"""How commands read a model: a model folder, or a formula that is compiled on the spot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeGuard

import typer

from softhat.cli.alphabets import is_inferred, note_inferred, warn_if_trivial
from softhat.cli.inputs import (
    AlphabetOption,
    Given,
    PropsOption,
    SymbolsOption,
    are_tokens,
    check_standard_input,
    read_alphabet,
    read_given,
    read_given_and_words,
    read_words,
)
from softhat.cli.log_depth import is_log_depth, read_log_depth
from softhat.cli.rasp import is_rasp, read_rasp, to_tokens
from softhat.cli.written_options import refuse_given
from softhat.io.errors import SofthatError
from softhat.io.files import is_file, is_folder
from softhat.logic.fragments import symbols_of
from softhat.logic.semantics.words import Word
from softhat.models.folders import load
from softhat.models.model import Model
from softhat.transformer.weights import Attention

if TYPE_CHECKING:
    from softhat.ahat.model import AHAT
    from softhat.models.value_model import ValueModel

ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="A model folder, a formula (@file, - for standard input) or zoo:NAME."
    ),
]
AttentionOption = Annotated[
    Attention,
    typer.Option(
        "--attention",
        metavar="TARGET",
        help="What a formula is compiled to: hard, unbounded or temperature.",
    ),
]
DtypeOption = Annotated[str, typer.Option("--dtype", help="float16, bfloat16, float32 or float64.")]
OutputNameOption = Annotated[
    str | None, typer.Option("--output", help="Which output of a model with several.")
]


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Of a formula that is compiled on the spot: its symbols and its target; of words: how they
    are written."""

    alphabet: AlphabetOption = None
    attention: AttentionOption = "unbounded"
    symbols: SymbolsOption = False
    props: PropsOption = False


def is_ahat(argument: str) -> bool:
    """Is it the file of an AHAT? Such files are JSON."""
    return argument.endswith(".json") and is_file(argument)


def read_ahat(argument: str) -> AHAT:
    from softhat.ahat.file import load as load_ahat

    refuse_given("an AHAT has its alphabet", "--alphabet")
    refuse_given("an AHAT is hard attention over symbols", "--attention", "--props", "--predicates")
    return load_ahat(argument)


def refuse_for_folder(what: str = "a model folder", words: bool = False) -> None:
    """What is compiled already cannot be compiled otherwise; options of words go with `words`."""
    refuse_given(f"{what} has its alphabet", "--alphabet")
    refuse_given(f"{what} is compiled already", "--attention", "--predicates")
    if not words:
        refuse_given("no words are read", "--symbols", "--props")


def _read_program(argument: str, options: ModelOptions) -> Any:
    """The compiled RASP program, or language in logarithmic depth, that the argument names."""
    refuse_given("words of such a model are symbols", "--props")
    refuse_given("only formulas have predicates", "--predicates")
    read = read_rasp if is_rasp(argument) else read_log_depth
    return read(argument, read_alphabet(options.alphabet, options.symbols), options.attention)


def is_hard(read: object) -> TypeGuard[AHAT]:
    """Is it an AHAT? Their module is imported only where no formula's model was read."""
    if read is None or isinstance(read, Model):
        return False
    from softhat.ahat.model import AHAT

    return isinstance(read, AHAT)


def has_values(read: object) -> TypeGuard[ValueModel]:
    """Is it the model of a RASP program? As in `is_hard`, a formula's model imports nothing."""
    if isinstance(read, Model):
        return False
    from softhat.models.value_model import ValueModel

    return isinstance(read, ValueModel)


def refuse_ahat(read: Any, argument: str) -> None:
    """Only softmax models can be exported, certified or verified."""
    if is_hard(read):
        raise SofthatError(
            f"{argument} is an AHAT: make a softmax model of it, softhat simulate {argument} -o DIR"
        )


def _read_ready(argument: str, options: ModelOptions, words: bool) -> Any:
    """The model in a folder, the AHAT in a file, or a compiled program; None of a formula."""
    if is_folder(argument):
        refuse_for_folder(words=words)
        return load(argument)
    if is_ahat(argument):
        return read_ahat(argument)
    if is_rasp(argument) or is_log_depth(argument):
        return _read_program(argument, options)
    return None


def read_model(argument: str, options: ModelOptions) -> Any:
    """The model in a folder, the AHAT in a file, or the compiled formula."""
    alphabet, symbols, props = options.alphabet, options.symbols, options.props
    ready = _read_ready(argument, options, words=False)
    if ready is not None:
        return ready
    known = read_alphabet(alphabet, symbols, props)
    given = read_given(argument, known, props)
    names = given.alphabet or tuple(symbols_of(given.formula)) or (() if props else ("a",))
    if is_inferred(argument, alphabet) and not props:
        warn_if_trivial([given.formula], names)
    return _compiled(given, names, options)


def _compiled(given: Given, names: Sequence[str], options: ModelOptions) -> Model:
    from softhat.models.compiler import compile as compile_formula

    kind: dict[str, Any] = {"propositions" if options.props else "alphabet": names}
    return compile_formula(given.formula, **kind, attention=options.attention, at=given.at)


def read_model_and_words(
    argument: str, arguments: list[str], options: ModelOptions
) -> tuple[Any, list[Word]]:
    """A model and the words to run it on.

    The words of a folder's model are read as it needs them: sets, tokens if a symbol is long,
    else characters. A formula without an alphabet gets its own symbols and the words'.
    """
    alphabet, symbols, props = options.alphabet, options.symbols, options.props
    check_standard_input(argument, arguments)
    model = _read_ready(argument, options, words=True)
    if is_hard(model):
        return model, read_words(arguments, are_tokens(symbols, False, model.alphabet), False)
    if model is not None:
        if isinstance(model, Model) or has_values(model):
            transformer = model.transformer
            if transformer.propositional:
                refuse_given("this model's words are sets of propositions", "--symbols")
            else:
                refuse_given("this model's words are of symbols", "--props")
            props = transformer.propositional
            symbols = not props and are_tokens(symbols, props, transformer.symbols)
        words = read_words(arguments, symbols, props)
        if has_values(model):
            return model, [to_tokens(model, word) for word in words]
        return model, words
    known = read_alphabet(alphabet, symbols, props)
    given, words = read_given_and_words(argument, arguments, known, symbols, props)
    names = given.alphabet
    if names is None:
        own = set(symbols_of(given.formula))
        names = tuple(sorted(own if props else own | {str(s) for w in words for s in w}))
    if is_inferred(argument, alphabet) and not props:
        source = "the expression" if given.alphabet else "the formula and the words"
        note_inferred(names, source)
        warn_if_trivial([given.formula], names)
    return _compiled(given, names, options), words
