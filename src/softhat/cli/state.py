"""`softhat state`: what is proved about a model, as a theorem."""

from __future__ import annotations

from typing import Annotated

import typer

from softhat.cli.inputs import AlphabetOption, JsonOption, PropsOption, SymbolsOption
from softhat.cli.models import AttentionOption, ModelArgument, read_model, refuse_ahat
from softhat.cli.output import print_json, say


def command(
    model: ModelArgument,
    latex: Annotated[
        bool, typer.Option("--latex", help="For a paper: theorem, table, assumptions, BibTeX.")
    ] = False,
    alphabet: AlphabetOption = None,
    attention: AttentionOption = "unbounded",
    symbols: SymbolsOption = False,
    props: PropsOption = False,
    as_json: JsonOption = False,
) -> None:
    """State what is proved about a model: the theorem, its laws and its assumptions.

    Example: softhat state '!c S a' --alphabet abc --latex
    """
    from softhat.models.statement import state

    ready = read_model(model, alphabet, attention, symbols, props)
    refuse_ahat(ready, model)
    stated = state(ready)
    if as_json:
        print_json({"text": stated.text, "latex": stated.latex})
    else:
        say(stated.latex if latex else stated.text)
