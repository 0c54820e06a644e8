"""`softhat train`: a small stock GPT-2, trained on the words of a specification."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from softhat.cli.inputs import AlphabetOption, FormulaArgument, JsonOption, read_alphabet, read_text
from softhat.cli.mistaken_names import check_is_formula
from softhat.cli.output import print_facts, print_json
from softhat.io.errors import SofthatError
from softhat.io.files.reading import read_json
from softhat.io.work import progress
from softhat.trained.languages import spec as make_spec
from softhat.trained.training import train


def command(
    formula: FormulaArgument,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write.")
    ],
    alphabet: AlphabetOption = None,
    layers: Annotated[int, typer.Option(help="Layers.")] = 1,
    heads: Annotated[int, typer.Option(help="Heads in each layer.")] = 1,
    width: Annotated[int, typer.Option(help="Entries of the residual stream.")] = 16,
    context: Annotated[int, typer.Option(help="Positions, `<bos>` and `<eos>` included.")] = 64,
    steps: Annotated[int, typer.Option(help="Steps of training.")] = 1500,
    rate: Annotated[float, typer.Option(help="The learning rate.")] = 3e-3,
    activation: Annotated[str, typer.Option(help="gelu_new, gelu, relu, silu or tanh.")] = (
        "gelu_new"
    ),
    truth: Annotated[
        bool, typer.Option("--truth", help="A classifier: does the formula hold here?")
    ] = False,
    empty: Annotated[
        bool, typer.Option("--empty", help="The empty word belongs to the formula's language.")
    ] = False,
    seed: Annotated[int, typer.Option(help="The seed of weights and words.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Train a small stock GPT-2 on the words of a past formula (or --regex, --dfa).

    The folder is a checkpoint as `save_pretrained` writes it, with the specification in spec.json:
    `softhat prove FOLDER` decides whether it learned the language.

    Example: softhat train '!b S a' --alphabet abc --layers 1 --out my-model
    """
    names = read_alphabet(alphabet)
    answers = "truth" if truth else "next"
    if formula.startswith("regex:"):
        wanted = make_spec(
            regex=formula.removeprefix("regex:"), alphabet=names, answers=answers, up_to=context
        )
    elif formula.startswith("dfa:"):
        wanted = make_spec(dfa=read_json(formula.removeprefix("dfa:")), answers=answers)
    elif formula.startswith(("program:", "mod ")):
        raise SofthatError("train takes a formula, --regex or --dfa")
    else:
        check_is_formula(formula, names)
        wanted = make_spec(
            read_text(formula), alphabet=names, empty=empty, answers=answers, up_to=context
        )
    with progress(quiet=as_json) as show:
        trained = train(
            wanted, out, layers=layers, heads=heads, width=width, context=context, steps=steps,
            seed=seed, learning_rate=rate, activation=activation, progress=show,
        )  # fmt: skip
    if as_json:
        print_json(asdict(trained))
        return
    print_facts(
        [
            ("wrote", trained.folder),
            ("parameters", f"{trained.parameters:,}"),
            ("loss", f"{trained.loss:.4g}"),
            ("wrong", f"{trained.wrong:,} of {trained.decisions:,} decisions on fresh words"),
            ("least margin", f"{trained.least_margin:.4g} there"),
        ]
    )
