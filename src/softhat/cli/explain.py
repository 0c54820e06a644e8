"""`softhat explain`: one formula and one word on a page of their own, as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from softhat.cli.eval import AtOption
from softhat.cli.inputs import JsonOption, WordArgument
from softhat.cli.models import ModelArgument, ModelOptions, read_model_and_words, refuse_ahat
from softhat.cli.output import print_json, say
from softhat.io.errors import SofthatError
from softhat.logic.semantics.truth import resolve_at
from softhat.models.model import Model


def command(
    model: ModelArgument,
    word: WordArgument,
    file: Annotated[Path, typer.Option("-o", "--out", help="The HTML file to write.")],
    options: ModelOptions,
    at: AtOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the explorer's page about one model and one word as a self-contained HTML file.

    It opens from the file system, loads nothing, and answers as the served page does: the word,
    the temperature, the length and the number format can be changed in it.

    Example: softhat explain '!c S a' abcabb --alphabet abc -o report.html
    """
    from softhat.explore.notebook import show
    from softhat.io.files import check_writable, write_file

    if file.suffix.lower() not in (".html", ".htm"):
        raise SofthatError(f"a report is an HTML file: name it {file.with_suffix('.html').name}")
    check_writable(file)
    ready, words = read_model_and_words(model, [word], options)
    if len(words) != 1:
        raise SofthatError(f"explain takes one word, not {len(words)}")
    refuse_ahat(ready, model)
    if at is not None:
        if not isinstance(ready, Model):
            raise SofthatError("--at is for models of formulas: leave it out")
        ready.at = resolve_at(next(iter(ready.formulas.values())), at)
    write_file(file, show(ready, words[0]).html.encode())
    if as_json:
        print_json({"written": str(file)})
    else:
        say(f"written to {file}")
