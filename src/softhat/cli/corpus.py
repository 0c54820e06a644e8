"""`softhat corpus`: many compiled models with their formulas, labels and sample words."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from softhat.circuits.corpus.corpus import make_corpus, model_line
from softhat.circuits.corpus.extract import extract as extract_model
from softhat.circuits.corpus.families import RASP
from softhat.circuits.corpus.shards import Settings
from softhat.circuits.corpus.targets import Target
from softhat.cli.inputs import (
    AlphabetOption,
    DaskOption,
    DisguiseOption,
    JobsOption,
    JsonOption,
    read_alphabet,
)
from softhat.cli.output import print_facts, print_json
from softhat.cli.written_options import refuse_given
from softhat.io.errors import SofthatError
from softhat.io.work import progress
from softhat.transformer.weights import Attention

OF_A_CORPUS = (
    *("--count", "--seed", "--alphabet", "--attention", "--to", "--disguise", "--context"),
    *("--family", "--depth", "--min-size", "--max-size", "--shard", "--jobs", "--dask"),
)
"""Options that say which models are drawn, and how they are made."""


def command(
    folder: Annotated[
        Path, typer.Option("-o", "--out", help="The folder of the corpus, or of the model.")
    ],
    extract: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[extract [CORPUS] ID]",
            help="Write one model of CORPUS (this folder, if left out) as a folder of its own.",
        ),
    ] = None,
    count: Annotated[int, typer.Option(metavar="N", max=10**7, help="How many models.")] = 100,
    seed: Annotated[int, typer.Option(help="The seed of the random formulas.")] = 0,
    alphabet: AlphabetOption = "ab",
    attention: Annotated[
        Attention,
        typer.Option(metavar="TARGET", help="Of all models: hard, unbounded or temperature."),
    ] = "unbounded",
    to: Annotated[
        Target, typer.Option(help="The architecture: softhat's own, or a stock one.")
    ] = "torch",
    disguise: DisguiseOption = None,
    context: Annotated[
        int | None,
        typer.Option(
            help="gpt2, llama, family rasp: positions, `<bos>` included.",
            show_default="1024; rasp: 64",
        ),
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(
            help="all, past, star-free, counting, n-gram, induction, program, rasp (torch alone), "
            "…; mixed: several in turn. Without it all, and for gpt2 and llama mixed."
        ),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(help="Only formulas of this temporal depth, as drawn.")
    ] = None,
    smallest: Annotated[
        int, typer.Option("--min-size", help="The fewest operators and leaves.")
    ] = 4,
    largest: Annotated[
        int,
        typer.Option("--max-size", metavar="N", max=10_000, help="The most operators and leaves."),
    ] = 20,
    shard: Annotated[int, typer.Option(metavar="N", max=10**5, help="Models in one file.")] = 100,
    jobs: JobsOption = 0,
    dask: DaskOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a corpus of random formulas or RASP programs, all different, compiled and labelled.

    Every formula is simplified and not constant, and every head of every model changes some answer.
    README.md in the folder says how it loads, with datasets and without softhat.

    The same command again finishes a corpus that was interrupted, however it was, with the same
    bytes as an uninterrupted run.

    Example: softhat corpus --count 100 --to gpt2 --disguise 7 -o corpus
    and then: softhat corpus extract corpus 17 -o model
    """
    if extract:
        _extract(extract, folder, as_json)
        return
    if to == "torch" and family != RASP:
        refuse_given("softhat's own models have no context", "--context")
    if context is None:
        context = 64 if family == RASP else 1024
    settings = Settings(
        count=count,
        seed=seed,
        alphabet=tuple(read_alphabet(alphabet) or ()),
        attention=attention,
        family=family or ("all" if to == "torch" else "mixed"),
        smallest=smallest,
        largest=largest,
        shard=shard,
        to=to,
        context=context,
        disguise=disguise,
        depth=depth,
    )
    start = time.monotonic()
    with progress(quiet=as_json) as show:
        make_corpus(folder, settings, jobs, dask, show)
    seconds = time.monotonic() - start
    if as_json:
        print_json({"folder": str(folder), "models": count, "seconds": round(seconds, 3)})
        return
    print_facts(
        [
            ("models", f"{count:,}"),
            ("card", str(folder / "README.md")),
            ("index", str(folder / "index.parquet")),
            ("seconds", f"{seconds:.1f}"),
        ]
    )


def _extract(words: list[str], folder: Path, as_json: bool) -> None:
    """`extract ID`, `extract CORPUS ID` or `extract CORPUS/ID`."""
    action, *rest = words
    refuse_given("a model is written as the corpus has it", *OF_A_CORPUS)
    if len(rest) == 1 and "/" in rest[0]:
        rest = rest[0].rstrip("/").rsplit("/", 1)
    if action != "extract" or not 1 <= len(rest) <= 2 or not rest[-1].isdecimal():
        raise SofthatError("expected softhat corpus extract [CORPUS] ID -o DIR, with a number ID")
    source = Path(rest[0]) if len(rest) == 2 else Path()
    extract_model(source, int(rest[-1][:20]), folder)
    facts = model_line(source, int(rest[-1]))
    formula = facts.get("formula") or "a RASP program"
    if as_json:
        print_json({"folder": str(folder), "corpus": str(source), "id": int(rest[-1])})
        return
    print_facts([("model", rest[-1]), ("computes", str(formula)), ("written to", str(folder))])
