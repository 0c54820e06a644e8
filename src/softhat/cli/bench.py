"""`softhat bench`: what compiling, running and verifying cost on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

# One thread, unless the user says otherwise: NumPy reads this when it is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from softhat.cli.inputs import JsonOption
from softhat.cli.output import check_suffix, print_json, print_table, say
from softhat.io.files import check_writable, json_bytes, write_file
from softhat.models.bench.run import SECTIONS, check_sections, fresh, measure
from softhat.models.bench.tables import shown


def command(
    sections: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SECTION]…", help=f"Some of {', '.join(SECTIONS)}; without one, all."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller sizes, for CI.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Also write the JSON here.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure softhat: tables with ratios of numbers from this run, and JSON.

    Example: softhat bench linear dense --out bench.json
    """
    check_suffix(out, (".json",), "the measurements")
    check_sections(sections or ())
    if out is not None:
        check_writable(out)
    results = fresh(quick)
    if not as_json:
        say("  ".join(f"{name} {value}" for name, value in results.machine.items()))
    for table in measure(results, sections or ()):
        if not as_json:
            say(f"\n{table.title}")
            print_table(table.columns, [[shown(cell) for cell in row] for row in table.rows])
            if table.note:
                say(table.note)
        if out is not None:
            write_file(out, json_bytes(results.to_json()))
    if as_json:
        print_json(results.to_json())
