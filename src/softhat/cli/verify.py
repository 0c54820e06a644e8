"""`softhat verify`: try to break a model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from softhat.cli.alphabets import is_inferred, shown_alphabet
from softhat.cli.inputs import DaskOption, JobsOption, JsonOption, show_word
from softhat.cli.models import (
    DtypeOption,
    ModelArgument,
    ModelOptions,
    read_model,
    refuse_ahat,
    refuse_for_folder,
)
from softhat.cli.output import head_name, print_facts, print_json, print_table, say, tell
from softhat.cli.written_options import is_given, refuse_given
from softhat.export.checking import verify
from softhat.export.kinds import is_export
from softhat.io.errors import SofthatError
from softhat.io.files import check_writable
from softhat.io.plural import plural
from softhat.io.work import progress, workers
from softhat.models.model import Model
from softhat.models.verification.amounts import MOST
from softhat.models.verification.report import Verification
from softhat.models.verification.values import ValueVerification
from softhat.models.verification.verify import RUNTIMES

_LABEL = 48  # characters of a head's label in the table; --json gives all


def command(
    model: ModelArgument,
    options: ModelOptions,
    exhaustive: Annotated[
        int,
        typer.Option(
            metavar="N",
            max=MOST["exhaustive"],
            help="Try all words to this length, as far as --max-words allows.",
        ),
    ] = 10,
    random: Annotated[
        int, typer.Option(metavar="N", max=MOST["random"], help="How many random words.")
    ] = 1000,
    adversarial: Annotated[
        int,
        typer.Option(metavar="N", max=MOST["adversarial"], help="How many words made to break it."),
    ] = 100,
    max_length: Annotated[
        int,
        typer.Option(
            metavar="N", max=MOST["max_length"], help="Longest random and adversarial words."
        ),
    ] = 1000,
    max_words: Annotated[
        int,
        typer.Option(metavar="N", max=MOST["max_words"], help="Most words to try exhaustively."),
    ] = 2_000_000,
    dtype: DtypeOption = "float32",
    runtime: Annotated[str, typer.Option(help="dense, linear or auto.")] = "dense",
    beyond: Annotated[
        bool, typer.Option("--beyond", help="Let words be longer than the certified length.")
    ] = False,
    seed: Annotated[int, typer.Option(help="The seed of the random words.")] = 0,
    jobs: JobsOption = 0,
    dask: DaskOption = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep what is done here, and go on from it."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw leak and margin against n (.png or .svg)."),
    ] = None,
    phase: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the largest correct length against C."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Try to break a model: all short words, random words, words made for its formulas.

    Exit code 0: the model agrees with its formulas everywhere; 1: it does not (or the run was
    interrupted); 2: bad input.

    Example: softhat verify '!c S a' --alphabet abc --exhaustive 8
    """
    exported = is_export(model)
    if exported:
        refuse_for_folder("an export")
    loaded: Any = model if exported else read_model(model, options)
    refuse_ahat(loaded, model)
    for picture in (plot, phase):
        if picture is not None and picture.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise SofthatError(f"pictures are .png, .svg or .pdf files, not {picture.name!r}")
    if not isinstance(loaded, Model):
        refuse_given("only models of formulas are drawn", "--plot", "--phase")
        refuse_given("what is no formula's model is run in this process", "--dask", "--resume")
    if not isinstance(loaded, Model | str):
        refuse_given("only words of formulas can be made to break one", "--adversarial")
        refuse_given("what is compared here stays within its certificate", "--beyond")
    for picture in (plot, phase):
        if picture is not None:
            check_writable(picture)
    asked: dict[str, Any] = {"runtime": runtime} if is_given("--runtime") else {}
    with workers(jobs, dask) as renew, progress(quiet=as_json) as show:
        result = verify(
            loaded,
            exhaustive=exhaustive,
            random=random,
            adversarial=adversarial,
            max_length=max_length,
            max_words=max_words,
            dtype=dtype,
            **asked,
            renew=renew,
            seed=seed,
            beyond=beyond,
            resume=resume,
            progress=lambda done, total, words: show("items", done, total, f"{words:,} words"),
        )
    if isinstance(result, ValueVerification):
        _report_values(result, as_json)
    elif not isinstance(result, Verification):
        _report_simulation(result, as_json)
    elif as_json:
        print_json(result.to_json())
    else:
        _report(result, exhaustive, max_length)
        if isinstance(loaded, Model):
            inferred = is_inferred(model, options.alphabet)
            print_facts([("alphabet", shown_alphabet(loaded.transformer.symbols, inferred))])
    if plot or phase:
        _draw(loaded, dtype, plot, phase)
    if not result.ok:
        raise typer.Exit(1)


def _draw(model: Any, dtype: str, plot: Path | None, phase: Path | None) -> None:
    from softhat.explore import pictures

    dtypes = tuple(dict.fromkeys((*pictures.DTYPES, dtype)))
    if plot is not None:
        pictures.leak_and_margin(model, plot, dtypes)
        tell(f"drew {plot}")
    if phase is not None:
        pictures.phase(model, phase, dtypes)
        tell(f"drew {phase}")


def _report(result: Verification, asked: int, asked_length: int) -> None:
    if result.heads:
        print_table(["head", *_COLUMNS], [_row(head) for head in result.heads])
        say()
    tried = _tried(result, asked, asked_length)
    facts = [("verdict", _verdict(result)), *_run_by(result), *tried]
    if result.program_proved:
        facts.append(("proved", "the attention program is the formula, on words of every length"))
    facts.append(
        ("margin", f"{result.min_margin:.6f} at the least, leak {result.max_leak:.6f} at the most")
    )
    facts.append(("time", f"{result.elapsed:.1f} s; words/s and process: {_rates(result)}"))
    failure = result.counterexample
    if failure is not None:
        says = "true" if failure.expected else "false"
        kind = "shortest" if failure.shortest else "shrunk"
        facts += [
            ("word", f"{show_word(failure.word, 200)} ({kind}, {len(failure.word)} positions)"),
            (
                "differs",
                f"{failure.output} is {says} at position {failure.position + 1}, the model says "
                f"{'false' if failure.expected else 'true'}",
            ),
            ("parts", str(failure.place) if failure.place else "the model is not what we compile"),
        ]
    print_facts(facts)


def _report_values(result: ValueVerification, as_json: bool) -> None:
    """A RASP program's model, compared with the exact meaning of its attention program."""
    failure = result.counterexample
    if as_json:
        print_json(asdict(result))
        return
    facts = _agreement(result, "model and program", "")
    if failure is not None:
        difference = (
            f"{failure.found!r} instead of {failure.expected!r} at position {failure.position + 1}"
        )
        facts += [("word", " ".join(map(str, failure.word[:200]))), ("differs", difference)]
    print_facts(facts)


def _agreement(result: Any, both: str, more: str) -> list[tuple[str, str]]:
    """Whether both agree, how that was tried, and the greatest error."""
    return [
        ("verdict", f"ok: {both} agree" if result.ok else "WRONG: they differ"),
        *_run_by(result),
        ("words", f"{result.words:,}, all to length {result.exhaustive_length}"),
        ("error", f"{result.max_error:.3g} at the most{more}"),
    ]


def _report_simulation(result: Any, as_json: bool) -> None:
    """A simulation of average-hard attention, compared with its exact values."""
    if as_json:
        print_json(asdict(result))
        return
    facts = _agreement(result, "simulation and AHAT", f", leak {result.max_leak:.3g}")
    failure = result.counterexample
    if failure is not None:
        facts += [
            ("word", show_word(failure.word, 200)),
            (
                "differs",
                f"{failure.value:.6g} instead of {failure.expected:.6g} at position "
                f"{failure.position + 1}: {failure.reason}",
            ),
        ]
    print_facts(facts)


_COLUMNS = ("computes", "leak", "in float64", "certified", "margin", "certified")


def _row(head: Any) -> list[str]:
    label = head.label if len(head.label) <= _LABEL else head.label[: _LABEL - 1] + "…"
    numbers = (
        head.leak,
        head.exact_leak,
        head.certified_leak,
        head.margin,
        head.certified_margin,
    )
    shown = [
        "-" if x is None else f"{x:.6f}" if x >= 1e-5 or x == 0 else f"{x:.1e}" for x in numbers
    ]
    return [head_name(head.layer, head.head), label, *shown]


def _rates(result: Verification) -> str:
    return ", ".join(f"{kind} {rate:,.0f}" for kind, rate in result.rates.items())


def _run_by(result: Any) -> list[tuple[str, str]]:
    """An export is run by other software: which one."""
    return [] if result.runtime in RUNTIMES else [("run by", result.runtime)]


def _verdict(result: Verification) -> str:
    if result.counterexample is not None:
        within = "" if result.counterexample.certified else ", beyond what is certified"
        return f"WRONG{within}: model and formula differ"
    if not result.complete:
        return "interrupted: no difference so far"
    return "ok: model and formula agree"


def _tried(result: Verification, asked: int, asked_length: int) -> list[tuple[str, str]]:
    counts = result.counts
    whole = f"all {counts['exhaustive']:,} to length {result.exhaustive_length}"
    if result.complete and result.counterexample is None and result.exhaustive_length < asked:
        whole += f" (not {asked}: --max-words)"
    hostile = f"{counts['adversarial']:,} adversarial"
    if counts.get("search"):
        hostile += f", {counts['search']:,} in searches"
    lengths = f"to length {result.max_length:,}"
    if result.max_length < asked_length:
        lengths += (
            f", the certified length in {result.dtype} (--beyond goes on to {asked_length:,})"
        )
    kinds = f"{plural(result.letters, 'kind')} of symbols"
    return [
        ("words", f"{result.words:,}: {whole} over {kinds}"),
        ("", f"{counts['random']:,} random, {hostile} {lengths}"),
    ]
