"""`softhat circuit`: what computes what in a model, and which edges carry it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from softhat.cli.inputs import JsonOption
from softhat.cli.output import check_suffix, print_json, print_table


def command(
    folder: Annotated[
        Path, typer.Argument(help="A model folder, an export, or a corpus with --id.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the circuit to this JSON file.")
    ] = None,
    number: Annotated[
        int | None, typer.Option("--id", metavar="ID", help="Which model, if FOLDER is a corpus.")
    ] = None,
    eap: Annotated[
        bool,
        typer.Option("--eap", help="As a graph of edge attribution patching: every possible edge."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """The true circuit of a model: nodes, what they compute, edges and what they carry.

    Example: softhat circuit model --eap -o circuit.json
    """
    import json

    from softhat.circuits.circuit import circuit
    from softhat.io.files import check_writable, write_file

    if out is not None:
        check_suffix(out, (".json",), "a circuit")
        check_writable(out)
    graph = circuit(folder, id=number)
    document = graph.to_eap() if eap else graph.to_json()
    if out is not None:
        write_file(out, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())
    if as_json:
        print_json(document)
        return
    readers: dict[str, list[str]] = {}
    for edge in graph.edges:
        target = f"{edge.target}.{edge.slot}" if edge.slot else edge.target
        readers.setdefault(edge.source, []).append(
            target if edge.carries == "input" else f"({target})"
        )
    rows = [
        [
            node.name,
            node.kind,
            "; ".join(("!" if m.sign < 0 else "") + f"{m.role} {m.formula}" for m in node.computes),
            " ".join(readers.get(node.name, [])),
        ]
        for node in graph.nodes
    ]
    print_table(["node", "kind", "computes", "is read by (constants)"], rows)
