"""`softhat generate`: a machine in a stock decoder, run token by token."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import typer

from softhat.cli.inputs import JsonOption
from softhat.cli.output import print_json, say, tell
from softhat.explore.tapes import check_picture, draw_run
from softhat.export.checking import certify
from softhat.export.gpt2.to_gpt2 import to_gpt2
from softhat.export.llama.to_llama import to_llama
from softhat.export.torch import torch_dtype
from softhat.frontends.machines.counter import CounterMachine
from softhat.frontends.machines.machine import Machine, Run
from softhat.frontends.machines.reading import machine as read_machine
from softhat.io.errors import SofthatError
from softhat.io.files.reading import read_text
from softhat.io.pretrained import import_transformers, pretrained
from softhat.models.compiler import compile as compile_model
from softhat.models.zoo.entry import PREFIX
from softhat.models.zoo.machines import machine_of

SPACE, TOKENS = 256, 512
"""Cells of a window and tokens of a run, unless they are given."""
MOST_SHOWN = 40
"""Tokens of a run that are printed."""


def command(
    machine: Annotated[
        str,
        typer.Argument(
            metavar="MACHINE",
            help="A machine's text (1RB1LB_1LA1RZ) or JSON, @file with one, or zoo:NAME.",
        ),
    ],
    given: Annotated[
        str | None,
        typer.Argument(
            metavar="[INPUT]",
            help="A word (symbols of several characters with spaces between), or counters: "
            "a=6,b=7.",
        ),
    ] = None,
    to: Annotated[
        Literal["gpt2", "llama", "softhat"] | None,
        typer.Option(help="gpt2, llama, or softhat's own architecture."),
    ] = None,
    dtype: Annotated[
        Literal["float32", "bfloat16", "float16", "float64"],
        typer.Option(metavar="FORMAT", help="float16, bfloat16, float32 or float64."),
    ] = "float32",
    tokens: Annotated[
        int | None,
        typer.Option(min=1, help="At most this many, prompt included (512)."),
    ] = None,
    space: Annotated[int | None, typer.Option(help="Cells of a tape's window (256).")] = None,
    positions: Annotated[
        Literal["rope", "bits"] | None,
        typer.Option(
            help="How a Llama finds positions: bits (16-bit formats too), or rope (the default of "
            "counter machines, which need none)."
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare with the machine's interpreter.")
    ] = False,
    beyond: Annotated[
        bool, typer.Option("--beyond", help="Run on where nothing is proved.")
    ] = False,
    picture: Annotated[
        Path | None,
        typer.Option(
            help="Draw the run in space and time: .html (to click on), .png, .svg or .pdf."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compile a machine to a decoder, run it greedily, and say what it did.

    Every token is proved right up to the certified length; beyond it the command refuses unless
    `--beyond` is given. Machines with tapes run in GPT-2, others in Llama, unless `--to` says. A
    machine may also be a JSON dictionary: {"kind": "cellular", "rule": 110, "width": 8}.

    Example: softhat generate zoo:collatz n=6 --dtype bfloat16 --check
    """
    if picture is not None:
        check_picture(picture)
    if machine.startswith(PREFIX):
        entry = machine_of(machine)
        m = read_machine(entry.description, space=space or entry.space)
        word = entry.input if given is None else _input(m, given)
        tokens = tokens or entry.tokens
    else:
        m = _machine(machine, space or SPACE)
        word = _input(m, given)
    tokens = tokens or TOKENS
    prompt = m.prompt(word)
    target = to or ("gpt2" if m.has_tapes else "llama")
    if len(prompt) >= tokens:
        raise SofthatError(f"the prompt alone has {len(prompt):,} tokens: give a larger --tokens")
    if target == "softhat":
        model = compile_model(m)
        model.linear(dtype)
        proved = model.certified_length(dtype, "linear")
        _refuse_beyond(proved, tokens, beyond, dtype, target)
        names = [*prompt, *model.generate(prompt, tokens - len(prompt), dtype, "linear")]
    else:
        chosen = positions or ("rope" if isinstance(m, CounterMachine) else "bits")
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            if target == "gpt2":
                to_gpt2(m, path, context=tokens + 1)
            else:
                to_llama(m, path, context=tokens + 1, positions=chosen)
            proved = certify(path).max_length[dtype]
            _refuse_beyond(proved, tokens, beyond, dtype, target)
            names = _generated(path, prompt, tokens - len(prompt), dtype)
    wrong = m.first_wrong(word, names) if check else None
    if wrong is not None:
        tell(f"the decoder and the interpreter differ: token {wrong + 1} is {names[wrong]!r}")
        raise typer.Exit(1)
    run = m.decode(names)
    if picture is not None:
        draw_run(machine if len(machine) < 40 else m.kind, m, run, picture)
    if as_json:
        print_json({**_facts(run), "certified": proved, "tokens": names, "checked": check})
    else:
        _show(run, names, proved, dtype, target)
        if check:
            say("every token is the interpreter's")


def _refuse_beyond(proved: int, tokens: int, beyond: bool, dtype: str, target: str) -> None:
    if proved < tokens and not beyond:
        raise SofthatError(
            f"in {dtype} this {target} is certified to {proved:,} tokens, not to {tokens:,}: "
            f"give --tokens {max(proved, 1)}, another --dtype, or --beyond"
        )


def _machine(text: str, space: int) -> Machine:
    content = read_text(Path(text[1:])) if text.startswith("@") else text
    return read_machine(content, space=space)


def _input(m: Machine, given: str | None) -> Any:
    if given is None or not isinstance(m, CounterMachine):
        return given.split() if given is not None and " " in given else given
    values: dict[str, int] = {}
    for part in given.split(","):
        name, equal, number = part.partition("=")
        if not equal or not number.strip().isdigit():
            raise SofthatError(f"{part!r} is no counter's value: write a=6,b=7")
        values[name.strip()] = int(number)
    return values


def _generated(path: Path, prompt: list[str], most: int, dtype: str) -> list[str]:
    transformers = import_transformers()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    lm = pretrained(transformers.AutoModelForCausalLM, path, torch_dtype(dtype))
    ids = tokenizer(" ".join(prompt), return_tensors="pt")
    out = lm.generate(**ids, max_new_tokens=most)
    names: list[str] = tokenizer.convert_ids_to_tokens(out[0].tolist())
    return names[1:]


def _facts(run: Run) -> dict[str, Any]:
    """What the run says besides its tokens."""
    names = [field.name for field in fields(run) if field.name not in ("prompt", "tokens")]
    return {name: getattr(run, name) for name in names}


def _show(run: Run, names: list[str], proved: int, dtype: str, target: str) -> None:
    more = f" … ({len(names):,} tokens)" if len(names) > MOST_SHOWN else ""
    say(" ".join(names[:MOST_SHOWN]) + more)
    ended = "halted" if run.halted else "did not halt within these tokens"
    if getattr(run, "full", False):
        ended = "left its space (a larger --space has more cells)"
    say(f"{run.steps:,} steps, {ended}")
    for name, value in _facts(run).items():
        match name:
            case "rows":
                say("\n".join(value))
            case "tapes" | "counters" | "output" | "accepted" | "stack":
                say(f"{name}: {value}")
    stock = "" if target == "softhat" else "stock "
    tell(f"a {stock}{target}, every token certified to {proved:,} in {dtype}")
