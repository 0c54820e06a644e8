"""`softhat radius`: how far the weights of a model may move before its proof fails."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from softhat.cli.inputs import JsonOption
from softhat.cli.output import print_facts, print_json
from softhat.cli.prove import (
    BudgetOption,
    CheckpointArgument,
    MaxLengthOption,
    Wanted,
    read_wanted,
)
from softhat.trained.checkpoint import read_checkpoint
from softhat.trained.radius import moved_by, radius


def command(
    folder: CheckpointArgument,
    wanted: Wanted,
    max_length: MaxLengthOption = None,
    kind: Annotated[
        str,
        typer.Option(
            help="relative: a share of each entry; largest: a share of its tensor's largest entry."
        ),
    ] = "relative",
    copy: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Is this copy still proved?")
    ] = None,
    dtype: Annotated[str, typer.Option(help="float32 or float64.")] = "float32",
    budget: BudgetOption = 600,
    as_json: JsonOption = False,
) -> None:
    """How far may every weight of a proved model move before the proof fails?

    Also says whether copies with weights rounded to float16, bfloat16 or int8 stay proved, and with
    --copy whether another checkpoint does. Exit code 0: the proof bears some change, and that of
    the copy; 1: it does not; 2: bad input.

    Example: softhat radius my-model --regex '(ab)*' --max-length 20 --copy fine-tuned
    """
    model = read_checkpoint(folder)
    spec = read_wanted(model, wanted)
    other = None if copy is None else read_checkpoint(copy)
    result = radius(model, spec, kind=kind, max_length=max_length, dtype=dtype, budget=budget)
    moved = None if other is None else moved_by(model, other, kind)
    good = result.radius > 0 and (moved is None or moved <= result.radius)
    if as_json:
        distance = None if moved is None or moved == float("inf") else moved
        told = {} if moved is None else {"moved": distance, "copy_proved": good}
        print_json(result.to_json() | told)
    else:
        share = "of each entry" if kind == "relative" else "of the largest entry of its tensor"
        facts = [
            (
                "radius",
                f"{result.radius:.3g} {share}" if result.radius else "0: no change is borne",
            ),
            ("words", f"every one of at most {result.max_length} symbols, {dtype}"),
            *(
                (f"{name} weights", "still proved" if holds else "not proved")
                for name, holds in result.copies.items()
            ),
        ]
        if moved is not None:
            facts.append(
                ("the copy", f"moved by {moved:.3g}: {'proved' if good else 'not proved'}")
            )
        if result.ended:
            facts.append(("ended early", "the budget is used up"))
        print_facts(facts)
    if not good:
        raise typer.Exit(1)
