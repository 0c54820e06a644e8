"""`softhat score`: how good is a circuit that somebody found?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from softhat.cli.inputs import JsonOption
from softhat.cli.output import print_facts, print_json, print_table


def command(
    folder: Annotated[Path, typer.Argument(help="A model folder, or a GPT-2 or Llama export.")],
    predicted: Annotated[
        Path, typer.Argument(help="JSON: a list of edges, scores by edge, or an EAP graph.")
    ],
    constants: Annotated[
        bool, typer.Option("--constants", help="Count edges that carry constants too.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare predicted edges with the true circuit: precision, recall, F1, AUROC.

    Edges are named like input->m0, m0->logits and a0.h1->a1.h0; the last may end with the letter of
    the input that reads, q, k or v, in angle brackets, and without it all three are meant.
    Completeness is the share of answers that stay right when all other edges carry what they carry
    on other words (in brackets: when all edges do); minimality the share of the predicted edges
    that change something alone.

    Example: softhat score model predicted.json
    """
    from softhat.circuits.circuit import circuit, score
    from softhat.io.files import parse_json, read_text

    edges = parse_json(read_text(predicted), str(predicted))
    marks = score(circuit(folder), edges, constants, folder)
    if as_json:
        print_json(marks.to_json())
        return
    names = ("precision", "recall", "f1", "auroc", "true", "predicted")
    rows = [
        [what, *(f"{getattr(measures, name):.4g}" for name in names)]
        for what, measures in (("edges", marks), ("nodes", marks.nodes))
    ]
    print_table(["", *names], rows)
    ablation = marks.ablation
    assert ablation is not None
    complete = f"{ablation.completeness:.4g} ({ablation.empty:.4g})"
    print_facts([("completeness", complete), ("minimality", f"{ablation.minimality:.4g}")])
