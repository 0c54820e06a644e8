"""`softhat certify`: for which lengths and number formats a model is proved right."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from softhat.cli.alphabets import is_inferred, shown_alphabet
from softhat.cli.coq import ask_coq
from softhat.cli.inputs import ZOO, CoqOption, JsonOption
from softhat.cli.models import (
    ModelArgument,
    ModelOptions,
    has_values,
    read_model,
    refuse_ahat,
    refuse_for_folder,
)
from softhat.cli.output import (
    head_name,
    length_and_reason,
    print_facts,
    print_json,
    print_table,
    say,
)
from softhat.cli.written_options import is_given, refuse_given
from softhat.export.coq.checker import check_file_name
from softhat.export.kinds import is_export
from softhat.io.errors import SofthatError
from softhat.io.files import check_writable, exists, read_text
from softhat.io.work import progress
from softhat.models.model import Model
from softhat.proof.certificate import Certificate, HeadCertificate

if TYPE_CHECKING:
    from softhat.ahat.simulation.simulation import Simulation
    from softhat.frontends.machines.machine import Machine
    from softhat.models.value_model import ValueModel

THEOREM = Path("right.v")
MANY_VALUES = 4
"""A head that reads more than these at once is not called by all of them."""


def command(
    model: ModelArgument,
    options: ModelOptions,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say in sentences why the model is right.")
    ] = False,
    as_json: JsonOption = False,
    coq: CoqOption = False,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="With --coq: the file to write.")
    ] = THEOREM,
) -> None:
    """What is proved about a model: a table of its heads, and the lengths for each dtype.

    The certificate is derived anew from the weights, not read from the folder. Exit code 1: the
    weights do not compute the formula, or nothing could be proved. A simulation's certificate is
    read and attacked by an independent re-check; exit code 1: a word refutes it. An exported
    folder (GPT-2, Hugging Face, torch) or ONNX file is proved anew from its weights; exit code 1
    if nothing is proved, or if its certificate.json states something else.

    With --coq a file is written with the formula, the exact weights and the theorem `right`: the
    model computes the formula at every position of every word, in the reals. (Of a program that is
    no formula: its attention program, up to its length.) If a small formula does not count, the
    file has `right_binary32` too: the same in float32, whatever the order of sums, up to a length
    that Coq prints. Where Coq is installed it checks the file; exit code 1 if it says no.

    Example: softhat certify '!c S a' --alphabet abc
    """
    exported = is_export(model)
    if as_json or coq:
        refuse_given(f"{'--json' if as_json else '--coq'} says all that is known", "--explain")
    if exported:
        refuse_for_folder("an export")
    if not coq:
        refuse_given("only --coq writes a file", "--out")
    if coq:
        check_file_name(out)
        _check_theorem(out)
        if (machine := _machine(model, exported)) is not None:
            raise SofthatError(
                "Coq has checked once for all that the formulas of this machine write its run "
                f"({machine.step_theorem}); a file of --coq is about weights that softhat.compile "
                "makes, and those of exports are certified by `softhat generate`"
            )
        if exported:
            raise SofthatError(
                "--coq is about softhat's own models: give the formula or its folder"
            )
    if exported:
        _export(model, explain, as_json)
    ready = read_model(model, options)
    refuse_ahat(ready, model)
    if not (isinstance(ready, Model) or has_values(ready)):
        if coq:
            raise SofthatError("for a simulation: softhat simulate AHAT --coq -o FILE.v")
        _simulation(model, ready, explain, as_json)
    known = ready.transformer.symbols
    inferred = is_inferred(model, options.alphabet)
    if coq:
        _coq(ready, out, as_json, shown_alphabet(known, inferred))
    certificate = ready.certificate
    if as_json:
        words = {"alphabet": list(known), "alphabet_inferred": inferred}
        print_json({**certificate.to_json(), **words})
    elif explain:
        say(certificate.explain())
        say(f"words over {shown_alphabet(known, inferred)}")
    else:
        formulas = ready.formulas if isinstance(ready, Model) else {}
        whole = {name: str(formula) for name, formula in formulas.items()}
        _print(certificate, shown_alphabet(known, inferred), whole)
    raise typer.Exit(1 if certificate.void else 0)


def _machine(model: str, exported: bool) -> Machine | None:
    """The machine that the argument names (`zoo:NAME`) or that an export runs, if it is one."""
    if exported and not model.endswith(".gguf"):
        from softhat.export.reading import read_export

        return read_export(model).machine
    if not model.startswith(ZOO):
        return None
    from softhat.models.zoo.machines import machines  # machines take long to import

    entry = machines().get(model.removeprefix(ZOO))
    return None if entry is None else entry.machine


def _check_theorem(file: Path) -> None:
    """The theorem can be written there; under the name that nobody chose, only over another one."""
    check_writable(file)
    if is_given("--out") or not exists(file):
        return
    if "\nFrom Softhat Require Import" not in read_text(file):
        raise SofthatError(
            f"{file} is in the way, and softhat did not write it: name another file with -o"
        )


def _coq(model: Model | ValueModel, file: Path, as_json: bool, words: str) -> NoReturn:
    """The theorem about the model, as a file, and what Coq says of it."""
    from softhat.export.coq.checker import SAID
    from softhat.export.coq.records import remember
    from softhat.export.coq.theorem import of_values, theorem
    from softhat.export.coq.values import said_of, value_theorem
    from softhat.models.loop_model import LoopModel

    if isinstance(model, LoopModel):
        raise SofthatError(
            "the Coq kernel does not cover models whose block is repeated: "
            "choose a length, as in --depth log@64"
        )
    formulas: Mapping[str, object] = {}
    said_if_accepted = SAID
    with progress(quiet=as_json) as show:
        show("writing", 0, None, "why the program computes what was asked, for Coq")
        stated = model if isinstance(model, Model) else of_values(model)
        if stated is not None:
            text, formulas = theorem(stated), stated.formulas
        elif not isinstance(model, Model):
            text, said_if_accepted = value_theorem(model), said_of(model)
        show("writing", 1, 1)
        asked = ask_coq(text, file, show, said_if_accepted)
    verdict = asked.verdict
    if verdict.accepted and stated is not None:
        remember(stated, text, verdict.binary32)
    if as_json:
        print_json({**model.certificate.to_json(), "coq": asked.to_json()})
    else:
        whole = {name: str(formula) for name, formula in formulas.items()}
        _print(model.certificate, words, whole)
        say()
        asked.report(floats="; float formats: by softhat's checker")
    raise typer.Exit(1 if verdict.accepted is False or model.certificate.void else 0)


def _export(path: str, explain: bool, as_json: bool) -> NoReturn:
    """What is proved about an export, from its weights, and what it states of itself."""
    from softhat.export.checking import certify_export, refuse_gguf
    from softhat.export.reading import read_export

    refuse_gguf(path)
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
        print_facts(
            (dtype, length_and_reason(length, certificate.reason(dtype)))
            for dtype, length in certificate.max_length.items()
        )
    raise typer.Exit(0 if certificate.ok else 1)


def _simulation(folder: str, simulation: Simulation, explain: bool, as_json: bool) -> NoReturn:
    """The certificate of a simulated AHAT, and what an independent re-check says of it."""
    from softhat.ahat.simulation.recheck import recheck

    checked = recheck(folder)
    if as_json:
        failures = list(checked.failures)
        document = {**simulation.certificate.to_json(), "recheck": {"failures": failures}}
        print_json(document)
    else:
        say(simulation.certificate.explain())
        if explain:
            from softhat.cli.sentences import simulation_sentences

            say(simulation_sentences(simulation.certificate))
        tried = f"{checked.words:,} words, all of them to length {checked.exhaustive_length}"
        say(f"re-checked against the files on {tried}: {'ok' if checked.ok else 'REFUTED'}")
        for failure in checked.failures:
            say(f"  {failure}")
    raise typer.Exit(0 if checked.ok else 1)


def _print(certificate: Certificate, alphabet: str, whole: Mapping[str, str]) -> None:
    """Print a certificate. It shortens long formulas; `whole` has them in full."""
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
        say(f"proved: {output.name} computes {whole.get(output.name, output.formula)}")
    say(f"on words over {alphabet}")
    say("\nright for every word up to this length, and what ends the proof")
    print_facts(
        (dtype, length_and_reason(length, certificate.binding[dtype]))
        for dtype, length in certificate.max_length.items()
    )


def _row(head: HeadCertificate, dtypes: tuple[str, ...]) -> tuple[str, ...]:
    """A head's line in the table, whose columns `_print` names."""
    return (
        head_name(head.layer, head.head),
        head.kind,
        f"{head.min_gap:g}",
        f"{head.leak:.3g}",
        f"{head.slack:.3g}",
        *(f"{head.max_length[dtype]:,}" for dtype in dtypes),
        _shortened(head.label.split(": ", 1)[-1]),
    )


def _shortened(label: str) -> str:
    """A head that reads many values at once is called by the first of them."""
    first, *rest = label.split("; ")
    return f"{first}; and {len(rest)} more" if len(rest) >= MANY_VALUES else label
