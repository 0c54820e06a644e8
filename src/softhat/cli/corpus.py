"""`softhat corpus`: many compiled models with their formulas, labels and sample words."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from softhat.cli.inputs import AlphabetOption, JsonOption, read_alphabet
from softhat.cli.output import print_facts, print_json
from softhat.errors import SofthatError
from softhat.export.corpus.corpus import Progress, make_corpus
from softhat.export.corpus.work import Settings
from softhat.transformer.weights import Attention


def command(
    folder: Annotated[Path, typer.Option("-o", "--out", help="The folder of the corpus.")],
    count: Annotated[int, typer.Option(help="How many models.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Of the random formulas.")] = 0,
    alphabet: AlphabetOption = "ab",
    attention: Annotated[Attention, typer.Option(help="The target of all models.")] = "unbounded",
    family: Annotated[str, typer.Option(help="The operators: all, past, counting, …")] = "all",
    smallest: Annotated[int, typer.Option("--min-size", help="Operators and leaves, least.")] = 4,
    largest: Annotated[int, typer.Option("--max-size", help="Operators and leaves, most.")] = 20,
    shard: Annotated[int, typer.Option(help="Models a file.")] = 100,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Processes; 0 means one for each core.")
    ] = 0,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on this Dask scheduler.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a corpus of random formulas, all different, compiled and labelled.

    The same command again finishes a corpus that was interrupted, however it was, with the same
    bytes as an uninterrupted run.

    Example: softhat corpus --count 1000 -o corpus
    """
    if jobs < 0:
        raise SofthatError(f"--jobs is a number of processes, not {jobs}")
    settings = Settings(
        count=count,
        seed=seed,
        alphabet=tuple(read_alphabet(alphabet) or ()),
        attention=attention,
        family=family,
        smallest=smallest,
        largest=largest,
        shard=shard,
    )
    start = time.monotonic()
    with _progress() as progress:
        make_corpus(folder, settings, jobs, dask, progress)
    seconds = time.monotonic() - start
    if as_json:
        print_json({"folder": str(folder), "models": count, "seconds": round(seconds, 3)})
        return
    print_facts(
        [
            ("models", f"{count:,}"),
            ("index", str(folder / "index.parquet")),
            ("seconds", f"{seconds:.1f}"),
        ]
    )


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar for the formulas and one for the shards, on a terminal."""
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    with Bars(console=Console(stderr=True)) as bars:
        known: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in known:
                known[what] = bars.add_task(what, total=total)
            bars.update(known[what], completed=done, total=total)

        yield show
