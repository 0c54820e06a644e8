"""`softhat certify`: for which lengths and number formats a model is proved right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from softhat.cli.inputs import AlphabetOption, JsonOption, PropsOption, SymbolsOption
from softhat.cli.models import AttentionOption, ModelArgument, read_model, refuse_ahat
from softhat.cli.output import head_name, print_facts, print_json, print_table, say
from softhat.export.checking import certify_export
from softhat.export.reading import is_export, read_export
from softhat.model import Model
from softhat.proof.certificate import Certificate, HeadCertificate
from softhat.value_model import ValueModel

if TYPE_CHECKING:
    from softhat.ahat.simulation.simulation import Simulation

_LABEL = 48


def command(
    model: ModelArgument,
    alphabet: AlphabetOption = None,
    attention: AttentionOption = "unbounded",
    explain: Annotated[
        bool, typer.Option("--explain", help="Say in sentences why the model is right.")
    ] = False,
    symbols: SymbolsOption = False,
    props: PropsOption = False,
    as_json: JsonOption = False,
) -> None:
    """What is proved about a model: a table of its heads, and the lengths for each dtype.

    The certificate is derived anew from the weights, not read from the folder. Exit code 1: the
    weights do not compute the formula, or nothing could be proved. A simulation's certificate is
    read and attacked by an independent re-check; exit code 1: a word refutes it. An exported
    folder (GPT-2, Hugging Face, torch) or ONNX file is proved anew from its weights; exit code 1
    if nothing is proved, or if its certificate.json states something else.

    Example: softhat certify '!c S a' --alphabet abc
    """
    if is_export(model):
        _export(model, explain, as_json)
    ready = read_model(model, alphabet, attention, symbols, props)
    refuse_ahat(ready, model)
    if not isinstance(ready, Model | ValueModel):
        _simulation(model, ready, as_json)
    certificate = ready.certificate
    if as_json:
        print_json(certificate.to_json())
    elif explain:
        say(certificate.explain())
    else:
        _print(certificate)
    raise typer.Exit(1 if certificate.void else 0)


def _export(path: str, explain: bool, as_json: bool) -> NoReturn:
    """What is proved about an export, from its weights, and what it states of itself."""
    certificate = certify_export(read_export(path))
    if as_json:
        print_json(certificate.to_json())
    elif explain:
        say(certificate.explain())
    else:
        say(f"{certificate.kind} export, weights {certificate.digest[:19]}…")
        for reason in certificate.void:
            say(f"void: {reason}")
        for reason in certificate.disagrees:
            say(f"certificate.json: {reason}")
        print_facts((dtype, f"{length:,}") for dtype, length in certificate.max_length.items())
    raise typer.Exit(0 if certificate.ok else 1)


def _simulation(folder: str, simulation: Simulation, as_json: bool) -> NoReturn:
    """The certificate of a simulated AHAT, and what an independent re-check says of it."""
    from softhat.ahat.simulation.recheck import recheck

    checked = recheck(folder)
    if as_json:
        failures = list(checked.failures)
        document = {**simulation.certificate.to_json(), "recheck": {"failures": failures}}
        print_json(document)
    else:
        say(simulation.certificate.explain())
        tried = f"{checked.words:,} words, all of them to length {checked.exhaustive_length}"
        say(f"re-checked against the files on {tried}: {'ok' if checked.ok else 'REFUTED'}")
        for failure in checked.failures:
            say(f"  {failure}")
    raise typer.Exit(0 if checked.ok else 1)


def _print(certificate: Certificate) -> None:
    if certificate.heads:
        dtypes = tuple(certificate.max_length)
        header = ("head", "kind", "gap", "leak", "slack", *dtypes, "called")
        print_table(header, [_row(head, dtypes) for head in certificate.heads])
        say()
    for reason in certificate.void:
        say(f"void: {reason}")
    if certificate.void:
        return
    for output in certificate.outputs:
        say(f"proved: {output.name} computes {output.formula}")
    say("\nright for every word up to this length, and what ends the proof")
    print_facts(
        (dtype, f"{length:<23,}{certificate.binding[dtype]}")
        for dtype, length in certificate.max_length.items()
    )


def _row(head: HeadCertificate, dtypes: tuple[str, ...]) -> tuple[str, ...]:
    label = head.label.split(": ", 1)[-1]
    return (
        head_name(head.layer, head.head),
        head.kind,
        f"{head.min_gap:g}",
        f"{head.leak:.3g}",
        f"{head.slack:.3g}",
        *(f"{head.max_length[dtype]:,}" for dtype in dtypes),
        label if len(label) <= _LABEL else label[: _LABEL - 1] + "…",
    )
