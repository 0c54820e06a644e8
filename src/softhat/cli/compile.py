"""`softhat compile`: a formula to a model folder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from softhat.cli import inputs
from softhat.cli.alphabets import is_inferred, shown_alphabet, warn_if_trivial
from softhat.cli.eval import AtOption
from softhat.cli.log_depth import depth_texts, is_log_depth, read_log_depth
from softhat.cli.output import check_suffix, print_facts, print_json, say
from softhat.cli.rasp import is_rasp, read_rasp
from softhat.io.errors import SofthatError
from softhat.io.files import check_writable, write_file
from softhat.logic.fragments import symbols_of
from softhat.logic.semantics.truth import resolve_at
from softhat.logic.syntax.nodes import Formula
from softhat.models.compile_arguments import OUTPUT
from softhat.models.compiler import compile as compile_formula
from softhat.transformer.weights import Attention


def command(
    formula: inputs.FormulaArgument,
    folder: Annotated[
        Path | None, typer.Option("-o", "--out", help="The model folder to write.")
    ] = None,
    alphabet: inputs.AlphabetOption = None,
    attention: Annotated[
        Attention,
        typer.Option(
            metavar="TARGET", help="Which attention computes it: hard, unbounded or temperature."
        ),
    ] = "unbounded",
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FORMULA", help="A further output; may be repeated."),
    ] = None,
    at: AtOption = None,
    name: Annotated[str, typer.Option(help="The name of the first output.")] = OUTPUT,
    symbols: inputs.SymbolsOption = False,
    props: inputs.PropsOption = False,
    program: Annotated[
        bool, typer.Option("--show-program", help="Print the attention program too.")
    ] = False,
    max_length: Annotated[
        int | None,
        typer.Option(help="The longest words of a RASP program, or of --depth log."),
    ] = None,
    causal: Annotated[
        bool, typer.Option("--causal", help="A RASP program looks only at this position and back.")
    ] = False,
    dot: Annotated[Path | None, typer.Option(help="Draw the attention program (Graphviz).")] = None,
    as_json: inputs.JsonOption = False,
) -> None:
    """Compile a formula, or the RASP program `file.py:NAME`, to a transformer; print its size.

    Example: softhat compile '!c S a' --alphabet abc --attention temperature -o model
    """
    check_suffix(dot, (".dot", ".gv"), "the drawing (a Graphviz text)")
    known = inputs.read_alphabet(alphabet, symbols, props)
    if is_rasp(formula):
        if also or props:
            raise SofthatError(
                "a RASP program is one output over tokens: leave --also, --props out"
            )
        model: Any = read_rasp(formula, known, attention, max_length, causal)
        texts = {"program": model.name}
    elif is_log_depth(formula):
        if also or props or causal:
            raise SofthatError(
                "a language in logarithmic depth is one output over symbols: leave --also, "
                "--props and --causal out"
            )
        model = read_log_depth(formula, known, attention, max_length)
        texts = depth_texts(formula, model)
    else:
        if max_length is not None or causal:
            raise SofthatError("--max-length and --causal are for RASP programs: file.py:NAME")
        given = inputs.read_given(formula, known, props)
        known = known if given.alphabet is None else list(given.alphabet)
        formulas = {name: given.formula, **_further(also or [], name, known, props)}
        where = resolve_at(given.formula, at) if at is not None else given.at
        names = known or symbols_of(*formulas.values()) if props else known
        kind: Any = {"propositions" if props else "alphabet": names}
        model = compile_formula(formulas, attention=attention, at=where, **kind)
        if is_inferred(formula, alphabet) and not props:
            warn_if_trivial(formulas.values(), model.transformer.symbols)
        texts = {key: str(f) for key, f in formulas.items()}
    _report(model, texts, folder, attention, program, dot, as_json, is_inferred(formula, alphabet))


def _further(
    also: list[str], name: str, known: list[str] | None, props: bool
) -> dict[str, Formula]:
    """The outputs of `--also`, beside the first one, which has a name."""
    formulas: dict[str, Formula] = {}
    for entry in also:
        key, equals, text = entry.partition("=")
        if not equals or key in (name, *formulas):
            raise SofthatError(f"--also takes NAME=FORMULA with a new name, not {entry!r}")
        formulas[key] = inputs.read_formula(text, known, props)
    return formulas


def _report(
    model: Any,
    texts: dict[str, str],
    folder: Path | None,
    attention: Attention,
    program: bool,
    dot: Path | None,
    as_json: bool,
    inferred: bool,
) -> None:
    """Write what is asked for and say how large the model is."""
    size = model.size
    if dot is not None:
        check_writable(dot)
    if folder is not None:
        model.save(folder)
    if dot is not None or program:
        from softhat.program.draw import to_dot, to_text

        if dot is not None:
            write_file(dot, f"{to_dot(model.program)}\n".encode())
    if as_json:
        print_json(
            {
                "folder": None if folder is None else str(folder),
                "attention": attention,
                "alphabet": list(model.transformer.symbols),
                "alphabet_inferred": inferred,
                **asdict(size),
            }
        )
        return
    if program:
        say(to_text(model.program), end="\n\n")
    print_facts(
        [
            *texts.items(),
            ("alphabet", shown_alphabet(model.transformer.symbols, inferred)),
            ("attention", attention),
            *((name, f"{number:,}") for name, number in asdict(size).items()),
            ("written to", "nowhere (give -o FOLDER)" if folder is None else str(folder)),
        ]
    )
