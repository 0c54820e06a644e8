"""`softhat prove`: proof or counterexample for a model that somebody trained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from softhat.cli.inputs import AlphabetOption, JsonOption, read_alphabet, read_text
from softhat.cli.mistaken_names import check_is_formula
from softhat.cli.output import print_facts, print_json, say
from softhat.cli.written_options import refuse_given
from softhat.io.errors import SofthatError
from softhat.io.files.reading import read_json
from softhat.io.work import progress
from softhat.trained.checkpoint import Checkpoint, read_checkpoint
from softhat.trained.languages import spec as make_spec
from softhat.trained.prove import prove
from softhat.trained.specification import Specification, read_specification
from softhat.trained.verdict import Failure, Verdict

OffsetOption = Annotated[
    str, typer.Option("--offset", help="The position id of `<bos>`, or all of them: all.")
]
BudgetOption = Annotated[
    float, typer.Option("--budget", help="Processor seconds that it may take.")
]
CheckpointArgument = Annotated[
    str, typer.Argument(metavar="FOLDER", help="A stock GPT-2 checkpoint.")
]
BosOption = Annotated[int | None, typer.Option("--bos", help="Token id of `<bos>`.")]
EosOption = Annotated[int | None, typer.Option("--eos", help="Token id of `<eos>`.")]
MaxLengthOption = Annotated[
    int | None,
    typer.Option("--max-length", help="The longest words; by default as long as the context."),
]
SeedOption = Annotated[int, typer.Option("--seed", help="The seed of the search.")]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a checkpoint shall do: one of the first four, or `spec.json` of its folder."""

    spec: Annotated[Path | None, typer.Option(metavar="FILE", help="A specification (JSON).")] = (
        None
    )
    formula: Annotated[
        str | None, typer.Option(metavar="FORMULA", help="A past formula, or @file.")
    ] = None
    regex: Annotated[
        str | None, typer.Option(metavar="EXPRESSION", help="A regular expression.")
    ] = None
    dfa: Annotated[Path | None, typer.Option(metavar="FILE", help="An automaton (JSON).")] = None
    alphabet: AlphabetOption = None
    bos: BosOption = None
    eos: EosOption = None
    empty: Annotated[
        bool, typer.Option("--empty", help="With --formula: the empty word belongs to it.")
    ] = False


def command(
    folder: CheckpointArgument,
    wanted: Wanted,
    max_length: MaxLengthOption = None,
    offset: OffsetOption = "0",
    dtype: Annotated[str, typer.Option(help="float32 or float64.")] = "float32",
    domain: Annotated[
        str, typer.Option(help="completable: prefixes of words that fit; all: every prefix.")
    ] = "completable",
    budget: BudgetOption = 600,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Does a trained model do what a specification says, on every word up to a length?

    Exit code 0: proved; 1: refuted, or open; 2: bad input. Symbols of a formula, regular
    expression or automaton have the token ids 0, 1, … in the order of the alphabet; `<bos>` and
    `<eos>` are those of the checkpoint's configuration.

    Example: softhat prove my-model --regex '(ab)*' --max-length 60
    """
    model = read_checkpoint(folder)
    spec = read_wanted(model, wanted)
    with progress(quiet=as_json) as show:
        verdict = prove(
            model, spec, max_length=max_length, offset=read_offset(offset), dtype=dtype,
            domain=domain, budget=budget, seed=seed, progress=show,
        )  # fmt: skip
    if as_json:
        print_json(verdict.to_json())
    else:
        report(verdict)
    if not verdict.ok:
        raise typer.Exit(1)


def read_offset(text: str) -> int | str:
    if text == "all":
        return text
    if not text.isdecimal():
        raise SofthatError(f"--offset is a position id or all, not {text!r}")
    return int(text)


def read_wanted(model: Checkpoint, wanted: Wanted) -> Specification:
    """The specification that one of the options gives; `spec.json` of the folder if none does."""
    ways = ("spec", "formula", "regex", "dfa")
    given = [f"--{name}" for name in ways if getattr(wanted, name) is not None]
    if len(given) > 1:
        raise SofthatError(f"give one of {' and '.join(given)}")
    own = model.folder / "spec.json"
    if wanted.spec is not None or not given:
        refuse_given(
            "a specification has its alphabet and its tokens",
            *("--alphabet", "--bos", "--eos", "--empty"),
        )
    if wanted.formula is None:
        refuse_given("expressions and automata know the empty word", "--empty")
    if not given and own.is_file():
        return read_specification(read_json(own, model.folder))
    if not given:
        raise SofthatError("what should the model do? Give --spec, --formula, --regex or --dfa")
    if wanted.spec is not None:
        return read_specification(wanted.spec)
    options: dict[str, Any] = {
        "alphabet": read_alphabet(wanted.alphabet),
        "bos": model.bos if wanted.bos is None else wanted.bos,
        "eos": model.eos if wanted.eos is None else wanted.eos,
    }
    if wanted.formula is not None:
        classifies = model.head != "GPT2LMHeadModel"
        answers = "truth" if classifies else "next"
        check_is_formula(wanted.formula, options["alphabet"])
        return make_spec(read_text(wanted.formula), empty=wanted.empty, answers=answers, **options)
    if wanted.regex is not None:
        return make_spec(regex=read_text(wanted.regex), **options)
    assert wanted.dfa is not None
    return make_spec(dfa=read_json(wanted.dfa), **options)


def report(verdict: Verdict) -> None:
    """The verdict as a table of facts."""
    facts = [("verdict", verdict.status), ("proved to", _proved(verdict))]
    if verdict.broken_by is not None:
        facts += _failure(verdict.broken_by)
        facts.append(("bracketed", "yes" if verdict.bracketed else "no"))
    if verdict.least_margin is not None:
        facts.append(("least margin", f"{verdict.least_margin:.6g} (proved)"))
    if verdict.least_found is not None:
        facts.append(("", f"{verdict.least_found:.6g} (least of {verdict.words:,} words tried)"))
    if verdict.open_cells:
        facts.append(("open", f"{len(verdict.open_cells):,} of {verdict.cells:,} cells"))
    if verdict.interrupted:
        facts.append(("ended early", verdict.interrupted))
    print_facts(facts)
    say()
    for text in verdict.assumptions:
        say(f"assumed: {text}")


def _proved(verdict: Verdict) -> str:
    if verdict.proved_to < 0:
        return f"nothing (of {verdict.asked} symbols)"
    where = "every offset" if verdict.offset == "all" else f"offset {verdict.offset}"
    return f"{verdict.proved_to} of {verdict.asked} symbols, {where}, {verdict.dtype}"


def _failure(failure: Failure) -> list[tuple[str, str]]:
    short = all(len(symbol) == 1 for symbol in failure.word)
    word = ("" if short else " ").join(failure.word)
    return [
        ("broken by", word),
        ("", f"row {failure.position}: the logit of {failure.token} is {failure.logit:.6g}"),
        ("", f"{failure.length} symbols, offset {failure.offset}, {failure.replayed or 'bounds'}"),
    ]
