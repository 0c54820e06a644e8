"""`softhat run`: what a model answers on words, and by how much."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softhat.cli import inputs
from softhat.cli.eval import UNDECIDED, AtOption, accepted, answer_line
from softhat.cli.models import (
    DtypeOption,
    ModelArgument,
    ModelOptions,
    OutputNameOption,
    has_values,
    is_hard,
    read_model,
    read_model_and_words,
)
from softhat.cli.output import print_json, print_table, say, tell_later, telling_warnings
from softhat.cli.rasp import print_values
from softhat.cli.written_options import is_given, refuse_given
from softhat.io.errors import SofthatError
from softhat.io.files import is_folder
from softhat.logic.semantics.words import Word
from softhat.models.model import Model

if TYPE_CHECKING:
    from softhat.ahat.model import AHAT
    from softhat.models.value_model import ValueModel

_BIG = 1 << 20


def command(
    model: ModelArgument,
    words: inputs.WordArguments,
    options: ModelOptions,
    dtype: DtypeOption = "float32",
    output: OutputNameOption = None,
    at: AtOption = None,
    runtime: Annotated[str, typer.Option(help="auto, dense or linear.")] = "auto",
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse words past the certified length.")
    ] = False,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream", help="Read @file or - in constant memory; print a line of 1 and . a word."
        ),
    ] = False,
    as_json: inputs.JsonOption = False,
) -> None:
    """Run a model (or a formula, compiled on the spot) on words: truth values and margins.

    A file or standard input of over 1 MB, and of any size with --stream, is read in constant
    memory and answered by a line of 1 and . a word.

    Example: softhat run '!c S a' abca --alphabet abc
    """
    inputs.check_standard_input(model, words)
    whole = as_json or at is not None or runtime == "dense"
    if stream and (whole or is_given("--runtime")):
        raise SofthatError(
            "--stream prints the linear runtime's answers as lines of 1 and . for every position: "
            "leave out --json, --at and --runtime"
        )
    if stream or (not whole and _is_big(words)):
        if options.alphabet is None and not is_folder(model):
            tell_later("note: no --alphabet: words may hold the formula's symbols only")
        ready = read_model(model, options)
        _stream(ready, words, dtype, output, strict, options.symbols)
        return
    ready, read = read_model_and_words(model, words, options)
    if is_hard(ready):
        refuse_given("an AHAT is run exactly", "--dtype", "--output", "--runtime", "--strict")
        _run_hard(ready, read, at, as_json)
        return
    if has_values(ready):
        refuse_given("a program answers with values at all positions", "--output", "--at")
        _values(ready, read, dtype, runtime, strict, as_json)
        return
    if isinstance(ready, Model):
        inputs.check_words(read, ready.transformer.symbols, ready.transformer.propositional)
    with telling_warnings(set()):
        margins = ready.margins_many(read, dtype, output, runtime, strict)
    where = ready.acceptance(output, at)
    if as_json:
        print_json(
            [
                {
                    "word": inputs.plain_word(word),
                    "truth": (row > 0).tolist(),
                    "accepted": accepted(row, where),
                    "margins": [float(x) for x in row],
                }
                for word, row in zip(read, margins, strict=True)
            ]
        )
        return
    answers = zip(read, margins, strict=True)
    rows = [(*answer_line(word, row, where), f"{abs(row).min():.4f}") for word, row in answers]
    print_table(["word", "truth", "verdict", "least margin"], rows)
    if where is None:
        say(UNDECIDED)


def _run_hard(model: AHAT, words: list[Word], at: str | None, as_json: bool) -> None:
    """An average-hard attention transformer, evaluated exactly."""
    if at not in (None, "first", "last"):
        raise SofthatError(f"at must be first or last, not {at!r}")
    where = at or "last"
    answers = [(word, model.values(word)) for word in words]
    if as_json:
        print_json(
            [
                {
                    "word": inputs.plain_word(word),
                    "truth": [x > 0 for x in row],
                    "accepted": accepted(row, where),
                    "margins": [float(x) for x in row],
                    "values": [str(x) for x in row],
                }
                for word, row in answers
            ]
        )
        return
    rows = [
        (*answer_line(word, row, where), str(min(map(abs, row)).limit_denominator(10**9)))
        for word, row in answers
    ]
    print_table(["word", "truth", "verdict", "least value"], rows)


def _values(
    model: ValueModel, words: list[Any], dtype: str, runtime: Any, strict: bool, as_json: bool
) -> None:
    """What a RASP program answers: a value at each position."""
    with telling_warnings(set()):
        values = model.values_many(words, dtype, runtime=runtime, strict=strict)
    print_values(words, values, as_json)


def _is_big(words: list[str]) -> bool:
    """One file, or standard input, that is too long for a table."""
    if words == ["-"]:
        return _standard_input_is_big()
    if len(words) != 1 or not words[0].startswith("@"):
        return False
    path = Path(words[0][1:])
    return path.is_file() and path.stat().st_size > _BIG


def _standard_input_is_big() -> bool:
    """What is read to find out is put back."""
    from softhat.cli.stream_input import Rejoined

    source = inputs.standard_input()
    head = source.read(_BIG + 1)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(Rejoined(head, source)))
    return len(head) > _BIG


def _stream(
    model: Any, words: list[str], dtype: str, output: str | None, strict: bool, tokens: bool
) -> None:
    from softhat.cli.stream_input import stream_file, write_stream

    if len(words) != 1 or not (words[0] == "-" or words[0].startswith("@")):
        raise SofthatError("--stream takes one @file, or - for standard input, as its words")
    if not isinstance(model, Model):
        raise SofthatError("--stream runs compiled models; give the words of a simulation instead")
    source = words[0].removeprefix("@")
    write_stream(stream_file(model, source, dtype, output, strict, tokens), sys.stdout)
