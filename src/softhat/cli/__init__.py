"""The command line: `softhat COMMAND …`, one module a command.

A command's module is imported when that command runs, so `softhat --help` stays fast; the
one-line summaries below are all that the top-level help needs. A command module has one
function, `command`, whose signature typer turns into options and whose docstring is its help.
"""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import io
import os
import sys
import traceback
import unicodedata
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from softhat.cli import output
from softhat.cli.option_groups import flattened
from softhat.cli.output import drop, say, tell, visible
from softhat.cli.written_options import NotingCommand
from softhat.io.errors import FormulaError, SofthatError
from softhat.io.garbage_collection import OBJECTS
from softhat.io.protection import watch_inputs

SUMMARIES = {
    "check": "What a formula is: forms, fragment, depth, satisfiable, valid.",
    "eval": "Truth of a formula at every position of words.",
    "satisfiable": "The shortest word that a formula accepts, of any length.",
    "equivalent": "Whether two formulas agree on all words, or where not.",
    "implies": "Whether a formula holds wherever another does, or where not.",
    "compile": "Make a transformer of a formula: a model folder.",
    "run": "What a model answers on words, and by how much.",
    "trace": "Attention and residual stream of one word: text, JSON, PNG.",
    "explore": "The explorer: meaning, attention and proof on a page, live.",
    "explain": "The explorer's page as one file, to share or print.",
    "compare": "One formula in every target: sizes and certified lengths.",
    "certify": "For which lengths and number formats a model is right.",
    "generate": "A machine in a stock decoder, every token certified.",
    "state": "What is proved about a model, as a theorem; in LaTeX too.",
    "verify": "Try to break a model: all short words, random, hostile ones.",
    "train": "A small stock GPT-2, trained on the words of a formula.",
    "prove": "Whether a trained GPT-2 does what a specification says.",
    "radius": "How far a proved GPT-2's weights may move.",
    "decompile": "The machine that a trained GPT-2 computes, proved.",
    "analyze": "A hard-attention transformer's gaps; a checkpoint's heads.",
    "simulate": "Make a softmax transformer of a hard-attention one.",
    "export": "Stock GPT-2, Llama, GGUF, Hugging Face, PyTorch, ONNX.",
    "corpus": "Many random formulas, compiled, with labels and sample words.",
    "circuit": "What computes what in a model, and which edges carry it.",
    "score": "Compare a circuit that somebody found with the true one.",
    "exam": "Mark methods that look for circuits by proved circuits.",
    "zoo": "Named languages and tasks: what is known, what they cost.",
    "bench": "What compiling, running and verifying cost on this machine.",
    "demo": "The main job on an example: compile, run, certify.",
}


_UsageError: Any = typer.BadParameter.__mro__[1]  # of click, or of typer's own copy of it
CHECKS = (
    "verify",
    "certify",
    "generate",
    "prove",
    "radius",
    "decompile",
    "equivalent",
    "implies",
    "satisfiable",
)
"""Commands whose exit code is a verdict."""
PIECEWISE = ("corpus", "exam", "run")
"""Commands that write as they go; the others write whole files and answers at the end."""


INTERRUPTED = 130


def main() -> None:
    """Entry point: exit code 0 done, 1 a check does not hold, 2 bad input or no way to go on."""
    _open_streams()
    gc.set_threshold(OBJECTS)
    arguments = sys.argv[1:]
    wanted = next((word for word in arguments if not word.startswith("-")), None)
    output.verdict = wanted in CHECKS
    output.told_of_interruption = False
    with warnings.catch_warnings(), watch_inputs():  # no output goes over what was read
        warnings.showwarning = lambda message, *_: tell(f"warning: {message}")
        code = _run(wanted)
        output.tell_what_was_kept(code in (0, 1))
    try:
        sys.stdout.flush()  # a full disk shows here, not after the last handler
    except BrokenPipeError:
        drop(sys.stdout)
    except (OSError, ValueError) as error:
        drop(sys.stdout)
        tell(f"error: cannot write the output: {getattr(error, 'strerror', None) or error}")
        code = 2
    sys.exit(code)


def _run(wanted: str | None) -> int:
    """The exit code of the command. Nothing that goes wrong looks like a verdict."""
    remains = "what was written so far is whole" if wanted in PIECEWISE else "nothing was written"
    try:
        code: int = _app(wanted)(prog_name="softhat", standalone_mode=False) or 0
        if code == INTERRUPTED and not output.told_of_interruption:  # typer says nothing
            tell(f"interrupted: {remains}")
        return code
    except SofthatError as error:
        tell(_message(error))
    except _UsageError as error:
        where = f" (see {error.ctx.command_path} --help)" if error.ctx is not None else ""
        message = " ".join(error.format_message().split())  # choices come on lines of their own
        tell(f"error: {message.rstrip('.')}{where}")
    except (KeyboardInterrupt, typer.Abort, _InterruptedError):
        tell(f"interrupted: {remains}")
        return INTERRUPTED
    except SystemExit as end:  # rich's way to say that the reader has left
        return 0 if isinstance(end.__context__, BrokenPipeError) else int(end.code or 0)
    except BrokenPipeError:  # the reader (`| head`) has left: there is nobody to tell
        drop(sys.stdout)
        return 0
    except OSError as error:
        tell(f"error: {error}")
    except MemoryError:
        tell("error: not enough memory")
    except Exception as error:  # a fault of ours: one line, and never exit code 1
        last = traceback.extract_tb(error.__traceback__)[-1]
        message = traceback.format_exception_only(error)[-1].strip()
        tell(f"internal error: {message} ({Path(last.filename).name}, line {last.lineno})")
    return 2


def _open_streams() -> None:
    """Streams that were closed swallow what is written, so that no file takes their number; a
    terminal that cannot show ¬ gets an escape."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # the new one stays open, so that its number is taken
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _app(wanted: str | None) -> typer.Typer:
    """All commands by name and summary, but only the wanted one with its real module."""
    app = typer.Typer(
        name="softhat",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown" if wanted else "rich",  # the list of commands has no markup
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Compile hard attention into softmax transformers, and certify that they agree.",
        epilog="New here? softhat demo runs an example, softhat explore serves a page.",
    )

    @app.callback(invoke_without_command=True)
    def options(
        context: typer.Context,
        version: bool = typer.Option(False, "--version", help="Print the version and exit."),
    ) -> None:
        if version:
            from softhat import __version__

            say(f"softhat {__version__}")
            raise typer.Exit()
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    for name, summary in SUMMARIES.items():
        if name == wanted:
            command = importlib.import_module(f"softhat.cli.{name}").command
            kind = _kind(command)
            app.command(name=name, short_help=summary, cls=kind)(_interruptible(flattened(command)))
        else:
            app.command(name=name, help=summary)(_not_loaded)
    return app


class _InterruptedError(Exception):
    """Ctrl-C in a command, where there was nothing to keep."""


def _interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """The command; Ctrl-C reaches `_run` as an exception, since typer would end without a word."""

    @functools.wraps(command)
    def same(**options: Any) -> None:
        try:
            command(**options)
        except KeyboardInterrupt:
            raise _InterruptedError from None

    return same


def _kind(command: Callable[..., None]) -> type[NotingCommand]:
    """A command that takes a formula takes a regular expression and so on in its place."""
    from softhat.cli.front_ends import FormulaCommand

    first = next(iter(inspect.signature(command).parameters.values()), None)
    annotation = "" if first is None else str(first.annotation).rpartition(".")[2]
    takes = annotation in ("FormulaArgument", "ModelArgument")
    return FormulaCommand if takes else NotingCommand


def _not_loaded() -> None:
    """Stands in for the commands that this call did not name."""


def _message(error: SofthatError) -> str:
    """One line, and for a formula the text with a caret under the fault."""
    message = visible(str(error)).replace("\n", " ")
    if not isinstance(error, FormulaError) or not error.text:
        return f"error: {message}"
    line, column = error.excerpt()
    shown = "".join(c if c.isprintable() else "?" for c in line)
    before = sum(_columns(c) for c in shown[:column])
    number = error.text.count("\n", 0, error.position) + 1
    where = f" (line {number})" if "\n" in error.text.strip("\n") else ""
    return f"error: {message}{where}\n  {shown}\n  {' ' * before}^"


def _columns(char: str) -> int:
    """How many columns of a terminal a character takes."""
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
