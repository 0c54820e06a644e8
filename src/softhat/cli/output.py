"""Plain, stable output that colours itself on a terminal only."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any


def print_json(document: Any) -> None:
    """One JSON document on standard output."""
    json.dump(document, sys.stdout)
    sys.stdout.write("\n")


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Name and value, one a line, the values in a column."""
    rows = list(facts)
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{_bold(name.ljust(width))}  {value}")


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns under a header; the first column is flush left, the others are centred."""
    from rich.cells import cell_len

    table = [list(header), *(list(row) for row in rows)]
    widths = [max(cell_len(row[k]) for row in table) for k in range(len(header))]
    for k, row in enumerate(table):
        cells = [row[0] + " " * (widths[0] - cell_len(row[0]))]
        for cell, width in zip(row[1:], widths[1:], strict=True):
            space = width - cell_len(cell)
            cells.append(" " * (space // 2) + cell + " " * (space - space // 2))
        line = "  ".join(cells[:1]) + "  " + " ".join(cells[1:])
        print(_bold(line.rstrip()) if k == 0 else line.rstrip())


def _bold(text: str) -> str:
    return f"\033[1m{text}\033[0m" if sys.stdout.isatty() else text
