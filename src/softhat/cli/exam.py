"""`softhat exam`: methods that look for circuits, marked by circuits that are proved."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from softhat.circuits.exam.paper import VERSIONS, digest, questions, tasks
from softhat.cli.inputs import JobsOption, JsonOption
from softhat.cli.output import print_facts, print_json, print_table
from softhat.cli.written_options import refuse_given
from softhat.io.errors import SofthatError
from softhat.io.work import progress

ACTIONS = {
    "list": ("--version",),
    "make": ("--out", "--version", "--only", "--jobs"),
    "run": ("--out", "--paper", "--only", "--seed", "--repository", "--sabotage", "--jobs"),
    "mark": ("--out", "--paper"),
    "golden": ("--out",),
}
"""What each can do, and the options that it has."""
DATA, PAGE = "results.json", "results.html"


def command(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="list | make | run METHOD… | mark PREDICTIONS",
            help="What to do, and with what.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", help="The folder of the paper, predictions, results or golden files."
        ),
    ] = None,
    paper: Annotated[Path, typer.Option(help="run, mark: the paper's folder.")] = Path("paper"),
    version: Annotated[int, typer.Option(help="make, list: the paper's version.")] = VERSIONS[-1],
    only: Annotated[
        list[str] | None,
        typer.Option(help="make, run: a question, task, family, level-3 or dress."),
    ] = None,
    seed: Annotated[
        list[int] | None,
        typer.Option(help="run: which pairs of words, 0 to 2; may be repeated."),
    ] = None,
    repository: Annotated[
        Path | None,
        typer.Option(help="run: the method's repository, or a folder of repositories."),
    ] = None,
    sabotage: Annotated[
        str | None,
        typer.Option(
            help="run: random, everything or reversed scores instead; of directions, random, "
            "permuted or reversed."
        ),
    ] = None,
    jobs: JobsOption = 0,
    as_json: JsonOption = False,
) -> None:
    """An exam for methods that look for circuits.

    make writes the paper: models whose circuits are proved, with pairs of words. run lets a method
    give every edge a score, or predict directions of disguised models. mark compares a folder of
    predictions with the truth, and writes results.json and results.html. list names questions and
    methods. make and run go on where they were interrupted. golden writes expected values of 20
    models, and a test for other libraries.

    Example: softhat exam make -o paper --only level-1
    and then: softhat exam run path-patching --paper paper -o predictions
    and then: softhat exam mark predictions --paper paper -o results
    """
    action, *rest = words
    _check(action, rest)
    start = time.monotonic()
    match action:
        case "list":
            _list(version, as_json)
            return
        case "make":
            chosen = questions(version, only or ())
            results = _make(_given(out, "make", "paper"), version, chosen, jobs, as_json)
        case "run":
            places = paper, _given(out, "run", "predictions")
            results = _run(
                rest, *places, only or (), seed or (0,), repository, sabotage, jobs, as_json
            )
        case "mark":
            if len(rest) != 1:
                raise SofthatError("expected softhat exam mark PREDICTIONS, one folder")
            _mark(Path(rest[0]), paper, out, as_json)
            return
        case _:
            from softhat.circuits.exam.golden import write_golden

            folder = _given(out, "golden", "golden")
            results = {"golden files": str(folder), "cases": write_golden(folder)}
    results["seconds"] = round(time.monotonic() - start, 1)
    if as_json:
        print_json(results)
    else:
        print_facts([(name, str(value)) for name, value in results.items()])


def _check(action: str, rest: list[str]) -> None:
    """Refuse what the action has no use for."""
    if action not in ACTIONS:
        raise SofthatError(f"expected one of {', '.join(ACTIONS)}, not {action!r}")
    if rest and action not in ("run", "mark"):
        raise SofthatError(f"softhat exam {action} takes no further words: leave {rest[0]} out")
    options = {option for options in ACTIONS.values() for option in options}
    refuse_given(f"softhat exam {action} has no use for it", *sorted(options - {*ACTIONS[action]}))


def _given(out: Path | None, action: str, example: str) -> Path:
    if out is None:
        raise SofthatError(f"say where: softhat exam {action} … -o {example}")
    return out


def _list(version: int, as_json: bool) -> None:
    from softhat.circuits.exam.methods import METHODS

    listed, asked = tasks(version), questions(version)
    if as_json:
        print_json(
            {
                "version": version,
                "digest": digest(asked),
                "questions": [question.to_json() for question in asked],
                "methods": {
                    name: {"title": method.title, "own code": method.own_code}
                    for name, method in METHODS.items()
                },
            }
        )
        return
    print_table(
        ["task", "formula", "dresses"],
        [[task.name, task.formula, ", ".join(task.dresses)] for task in listed],
    )
    print_table(
        ["method", "is", "code of"],
        [
            [
                name,
                method.title,
                method.package.address if method.package else method.tool or "softhat",
            ]
            for name, method in METHODS.items()
        ],
    )
    print_facts([("paper", str(version)), ("questions", str(len(asked)))])


def _make(folder: Path, version: int, chosen: Any, jobs: int, as_json: bool) -> dict[str, Any]:
    from softhat.circuits.exam.making import make_paper

    with progress(quiet=as_json) as show:
        written = make_paper(folder, version, chosen, jobs, show)
    return {"paper": str(folder), "questions": len(written["weights"]), "digest": written["digest"]}


def _run(
    names: list[str],
    paper: Path,
    out: Path,
    only: Any,
    seeds: Any,
    repository: Path | None,
    sabotage: str | None,
    jobs: int,
    as_json: bool,
) -> dict[str, Any]:
    from softhat.circuits.exam.making import listed, read_paper
    from softhat.circuits.exam.running import run_method

    if not names:
        raise SofthatError("say which method: softhat exam run METHOD (softhat exam list)")
    ids: list[str] = []
    if only:
        there = set(listed(paper))
        asked = questions(read_paper(paper)["version"], only)
        ids = [question.id for question in asked if question.id in there]
        if not ids:
            raise SofthatError(f"{paper} has none of the questions {', '.join(only)}")
    new = total = 0
    with progress(quiet=as_json) as show:
        for name in names:
            _, written, there_are = run_method(
                paper, out, name, seeds, ids, repository, sabotage, jobs, show
            )
            new, total = new + written, total + there_are
    return {"predictions": str(out), "new": new, "all": total}


def _mark(predictions: Path, paper: Path, out: Path | None, as_json: bool) -> None:
    from softhat.circuits.exam.marking import FORMAT, MEASURES, mark_folder
    from softhat.circuits.exam.matching import DIRECTION_MEASURES
    from softhat.circuits.exam.page import page
    from softhat.io.files import check_derived, exists, json_bytes, make_folder, write_file

    if out is not None:
        kind, _, _ = FORMAT.partition("/")
        check_derived(out / DATA, kind)
        if not exists(out / DATA):  # else the page beside it is of an earlier run
            check_derived(out / PAGE, kind)
    with progress(quiet=as_json) as show:
        results = mark_folder(paper, predictions, show)
    if out is not None:
        make_folder(out)
        write_file(out / DATA, json_bytes(results), own=True)
        write_file(out / PAGE, page(results).encode(), own=True)
    if as_json:
        print_json(results)
        return
    for methods, measures in (
        (results["methods"], MEASURES),
        (results["directions"], DIRECTION_MEASURES),
    ):
        rows = []
        for method in methods.values():
            numbers = [
                "{:.3f} ({:.2f}–{:.2f})".format(*method["overall"][measure]) for measure in measures
            ]
            counts = [str(method[name]) for name in ("models", "seeds")]
            rows.append([method["title"], *numbers, *counts, method["verdict"]])
        if rows:
            print_table(["method", *measures, "models", "seeds", "verdict"], rows)
    if out is not None:
        print_facts([("page", str(out / PAGE)), ("data", str(out / DATA))])
