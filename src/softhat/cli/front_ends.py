"""Other ways to give a formula: `--regex`, `--dfa`, `--program` stand in for the argument.

An option becomes the first argument, marked with where it came from (`regex:…`), before typer
looks at the line, so that no command has to know; `inputs.read_given` reads the mark. The marks
can be written by hand too, as in `--also NAME=regex:…`.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import Any

from typer.core import TyperOption

from softhat.cli.written_options import NotingCommand
from softhat.io.errors import SofthatError

MARKS = {
    "--regex": ("regex:", "EXPRESSION", "A regular expression."),
    "--dfa": ("dfa:", "FILE", "An automaton, as JSON."),
    "--program": ("program:", "FILE", "A B-RASP or C-RASP program."),
}
PANEL = "Instead of a formula"
"""Where `--help` lists the options below, apart from a command's own."""
MODULAR = "mod "
"""Stands before a mark where positions modulo m may be used."""


_REGULAR: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("--mod", "With --regex, --dfa: allow positions modulo m.", {"is_flag": True}),
    (
        "--depth",
        "With --regex, --dfa: constant (a formula), log (any regular language, in "
        "logarithmic depth; log@N: for words up to N), or auto (a formula if there is one, "
        "else the smaller of counting and log).",
        {"metavar": "DEPTH"},
    ),
)
"""Options of regular languages: name, help, and what is particular."""


def _option(name: str, text: str, **more: Any) -> TyperOption:
    """An option that no command's function has as a parameter."""
    kind: dict[str, Any] = {} if more.get("is_flag") else {"type": str}
    return TyperOption(param_decls=[name], help=text, expose_value=False, **kind, **more)


class FormulaCommand(NotingCommand):
    """A command whose first argument is a formula, or given by one of the options above."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        marks = [(name, text, {"metavar": metavar}) for name, (_, metavar, text) in MARKS.items()]
        for name, text, more in (*marks, *_REGULAR):
            self.params.append(_option(name, text, rich_help_panel=PANEL, **more))
        self.params.append(
            _option(
                "--predicates",
                "What at(NAME) means: lines `NAME: bits`, such as p: 0110(01).",
                metavar="FILE",
                callback=_keep_predicates,
            )
        )

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, moved_first(args))


_PREDICATES: ContextVar[str | None] = ContextVar("predicates", default=None)


def _keep_predicates(_context: Any, _parameter: Any, file: str | None) -> None:
    """For whoever reads a formula in this command."""
    _PREDICATES.set(file)


def predicates_option() -> str | None:
    """The file that `--predicates` named, if there is one."""
    return _PREDICATES.get()


def moved_first(arguments: list[str]) -> list[str]:
    """The arguments with `--regex E` (or another of `MARKS`) turned into a first `regex:E`."""
    rest: list[str] = []
    given: list[str] = []
    modular = False
    depth: str | None = None
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word == "--":
            rest += arguments[at:]
            break
        name, equals, value = word.partition("=")
        if name in MARKS:
            if not equals:
                at += 1
                if at == len(arguments):
                    raise SofthatError(f"{name} needs a value: {name} {MARKS[name][1]}")
                value = arguments[at]
            given.append(MARKS[name][0] + value)
        elif name == "--depth":
            if not equals:
                at += 1
                value = arguments[at] if at < len(arguments) else ""
            depth = _depth(value)
        elif word == "--mod":
            modular = True
        else:
            rest.append(word)
        at += 1
    if len(given) > 1:
        raise SofthatError(f"give one of {', '.join(MARKS)}, once")
    if modular and not (given and given[0].startswith(("regex:", "dfa:"))):
        raise SofthatError("--mod goes with --regex or --dfa")
    if depth is not None and not (given and given[0].startswith(("regex:", "dfa:"))):
        raise SofthatError("--depth goes with --regex or --dfa")
    if depth and modular:
        raise SofthatError("--mod is for constant depth: leave --depth log or --mod out")
    return [(depth or "") + (MODULAR if modular else "") + given[0], *rest] if given else rest


def _depth(value: str) -> str:
    """What stands before the mark of a language in logarithmic depth; nothing for constant."""
    if value == "constant":
        return ""
    if re.fullmatch(r"(log|auto)(@\d{1,9})?", value) is None:
        raise SofthatError(
            f"--depth is constant, log, auto, log@N or auto@N, such as log@4096, not {value!r}"
        )
    return f"{value} "
