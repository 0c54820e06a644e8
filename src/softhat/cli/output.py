"""Plain, stable output that colours itself on a terminal only.

Everything that a command shows passes here. Names, labels and file names are other people's text:
a control character among them would move the cursor or change the terminal, so it is shown as
an escape.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from softhat.io.errors import SofthatError

# What is known of the command that runs: `softhat.cli.main` sets it at the beginning.
verdict = False
"""The exit code is what was asked for: then a reader who leaves (`| head`) stops nothing."""
told_of_interruption = False
"""Was it said that Ctrl-C ended the command, and what remains?"""
_later: list[str] = []
"""Notes that are told at the end, if the command succeeds."""


def print_json(document: Any) -> None:
    """One JSON document on standard output."""
    import json  # most commands print text

    _write(json.dumps(document) + "\n")


def visible(text: str) -> str:
    """The text with everything that is not printable, but for line ends, as an escape."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(c if c == "\n" or c.isprintable() else _escaped(c) for c in text)


def head_name(layer: int, head: int) -> str:
    """How every command calls a head; both are counted from 0, as in the files."""
    return f"layer {layer}, head {head}"


def check_suffix(file: Path | None, suffixes: Sequence[str], what: str) -> None:
    """Refuse a name that promises another kind of file than what would be in it."""
    if file is not None and file.suffix and file.suffix.lower() not in suffixes:
        raise SofthatError(f"{what} is written to {', '.join(suffixes)}, not {file.suffix}: {file}")


def say(text: str = "", end: str = "\n") -> None:
    """Text on standard output."""
    _write(visible(text) + end)


def tell(text: str) -> None:
    """A note or an error on standard error; lost where nobody can read it."""
    global told_of_interruption
    told_of_interruption = told_of_interruption or text.startswith("interrupted: ")
    try:
        sys.stderr.write(visible(text) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # full, or closed
        drop(sys.stderr)


@contextmanager
def telling_warnings(told: set[str]) -> Iterator[None]:
    """What is warned of inside is told at the end, unless it is among `told`, which it joins."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        if text not in told:
            tell(f"warning: {text}")
        told.add(text)


def tell_later(text: str) -> None:
    """A note that is of interest only if the command succeeds: an error is one line."""
    _later.append(text)


def tell_what_was_kept(succeeded: bool) -> None:
    """At the end of a command."""
    if succeeded:
        for text in _later:
            tell(text)
    _later.clear()


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        if not verdict:
            raise
        drop(sys.stdout)


def drop(stream: IO[str]) -> None:
    """Send what is still to be written nowhere: else Python, which flushes at exit, would complain
    with an exit code of its own."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Name and value, one a line, the values in a column."""
    rows = list(facts)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        _write(f"{_bold(visible(name.ljust(width)))}  {visible(value)}\n")


def length_and_reason(length: int, reason: str) -> str:
    """A certified length, and what ends the proof there."""
    return f"{length:<23,}{reason}".rstrip()


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns under a header, text flush left and numbers flush right.

    On a terminal that is too narrow each row is printed as lines of name and value.
    """
    from rich.cells import cell_len

    table = [[_cell(cell) for cell in row] for row in (header, *rows)]
    widths = [max(cell_len(row[k]) for row in table) for k in range(len(header))]
    gap = " " if max(widths[1:], default=0) <= 2 else "  "  # positions of a word stand close
    room = _columns()
    if room is not None and sum(widths) + len(gap) * (len(widths) - 1) > room and gap != " ":
        _print_records(table)
        return
    numeric = [all(_is_number(row[k]) for row in table[1:]) for k in range(len(header))]
    for number, row in enumerate(table):
        cells = []
        for cell, width, right in zip(row, widths, numeric, strict=True):
            space = " " * (width - cell_len(cell))
            cells.append(space + cell if right else cell + space)
        line = (cells[0] + "  " + gap.join(cells[1:])).rstrip()
        _write(f"{_bold(line) if number == 0 else line}\n")


def _print_records(table: Sequence[Sequence[str]]) -> None:
    """Each row as lines of name and value, a blank line between rows."""
    header, *rows = table
    for number, row in enumerate(rows):
        if number:
            _write("\n")
        print_facts([(name, cell) for name, cell in zip(header, row, strict=True) if cell])


def _columns() -> int | None:
    """The width of the terminal; None where the output goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[-+]?[\d,.]+(e[-+]?\d+)?( ?%)?|-|", text) is not None


def _cell(text: str) -> str:
    return visible(text).replace("\n", "\\n")


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()


def _bold(text: str) -> str:
    return f"\033[1m{text}\033[0m" if sys.stdout.isatty() else text
