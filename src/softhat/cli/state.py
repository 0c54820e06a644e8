"""`softhat state`: what is proved about a model, as a theorem."""

from __future__ import annotations

from typing import Annotated

import typer

from softhat.cli.inputs import JsonOption
from softhat.cli.models import ModelArgument, ModelOptions, read_model, refuse_ahat
from softhat.cli.output import print_json, say
from softhat.cli.written_options import refuse_given


def command(
    model: ModelArgument,
    options: ModelOptions,
    latex: Annotated[
        bool, typer.Option("--latex", help="For a paper: theorem, table, assumptions, BibTeX.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """State what is proved about a model: the theorem, its laws and its assumptions.

    Example: softhat state '!c S a' --alphabet abc --latex
    """
    from softhat.models.statement import state

    if as_json:
        refuse_given("--json has both texts", "--latex")
    ready = read_model(model, options)
    refuse_ahat(ready, model)
    stated = state(ready)
    if as_json:
        print_json({"text": stated.text, "latex": stated.latex})
    else:
        say(stated.latex if latex else stated.text)
