"""`softhat decompile`: the machine that a trained model computes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from softhat.cli.inputs import JsonOption, read_alphabet
from softhat.cli.output import check_suffix, print_json, print_table, say, tell
from softhat.cli.prove import (
    BosOption,
    BudgetOption,
    CheckpointArgument,
    EosOption,
    MaxLengthOption,
    SeedOption,
    report,
)
from softhat.frontends.regular.translate import from_dfa
from softhat.io.errors import SofthatError
from softhat.io.files import check_writable, json_bytes, write_file
from softhat.io.work import progress
from softhat.trained.checkpoint import read_checkpoint
from softhat.trained.decompile import LearningLimits, learned, teacher_of


def command(
    folder: CheckpointArgument,
    alphabet: Annotated[str, typer.Option(help="The symbols, whose token ids are 0, 1, …")],
    bos: BosOption = None,
    eos: EosOption = None,
    max_length: MaxLengthOption = None,
    budget: BudgetOption = 600,
    seed: SeedOption = 0,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write the automaton (JSON).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Learn the automaton that a trained language model computes, and prove it.

    Exit code 0: proved up to the length; 1: not; 2: bad input.

    Example: softhat decompile my-model --alphabet ab --max-length 60
    """
    if out is not None:
        check_suffix(out, (".json",), "an automaton")
        check_writable(out)
    model = read_checkpoint(folder)
    names = read_alphabet(alphabet) or []
    with progress(quiet=as_json) as show:
        limits = LearningLimits(max_length, budget=budget, seed=seed)
        result = learned(teacher_of(model, names, bos, eos), limits, show)
    automaton, verdict, counter = result.document, result.verdict, result.counter
    formula: str | None
    why = "control states matter beside the count"
    if counter is not None:
        formula = automaton["formula"]
    else:
        try:
            formula = str(from_dfa(automaton))
        except SofthatError as error:
            formula, why = None, str(error)
    if out is not None:
        write_file(out, json_bytes(automaton))
        tell(f"wrote {out}")
    if as_json:
        document = {"automaton": automaton, "specification": result.machine.to_json()}
        print_json({**document, "formula": formula, "verdict": verdict.to_json()})
    else:
        if counter is not None:
            weights = ", ".join(f"{s}: {weight:+d}" for s, weight in automaton["counter"].items())
            say(f"a counter ({weights}); states are the same from ±{counter.level} on")
        rows = _counted_rows(automaton) if counter is not None else [
            (name, " ".join(f"{s}→{to}" for s, to in automaton["transitions"][name].items()),
             "yes" if name in automaton["accept"] else "")
            for name in automaton["states"]
        ]  # fmt: skip
        print_table(["state", "goes to", "accepts"], rows)
        say()
        say(f"formula: {formula}" if formula is not None else f"no formula: {why}")
        say()
        report(verdict)
    if not verdict.ok:
        raise typer.Exit(1)


def _counted_rows(automaton: dict[str, Any]) -> list[tuple[str, str, str]]:
    """A row for each control state at each count."""
    return [
        (
            f"{step['state']} at {step['count']}",
            " ".join(f"{symbol}→{to}" for symbol, to in step["next"].items()),
            "yes" if step["state"] in automaton["accept"] else "",
        )
        for step in sorted(
            automaton["transitions"], key=lambda step: (step["state"], step["count"])
        )
    ]
