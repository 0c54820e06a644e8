"""The files of a stock checkpoint, whatever its architecture. Nothing in them needs softhat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.export.certificates import export_facts, with_machine
from softhat.export.labels import Labels
from softhat.export.stock.languages import language_file
from softhat.export.tokenizer import tokenizer_documents
from softhat.frontends.machines.machine import Machine
from softhat.io.files import json_bytes, json_files
from softhat.logic.binding import predicates_file
from softhat.program.signals import Program
from softhat.proof.stock.automata import Acceptor, Claimed, formulas_alone
from softhat.proof.stock.certificate import StockCertificate
from softhat.transformer.directions import Directions
from softhat.transformer.weights import BOS, EOS

DIRECTIONS = "directions.safetensors"
"""Where everything is in a disguised model."""
GENERATION = "generation_config.json"
MACHINE = "machine.json"
"""The machine that a model runs."""
SAMPLING = {"do_sample": True, "top_k": 0}
"""From all of the distribution."""
GREEDY = {"do_sample": False}


def stock_files(
    *,
    t: Program,
    formulas: Mapping[str, Claimed],
    tokens: tuple[str, ...],
    context: int,
    head: str,
    config: Mapping[str, Any],
    tensors: Mapping[str, NDArray[Any]],
    directions: Directions | None,
    labels: Labels | None,
    certificate: StockCertificate,
    readme: str,
    machine: Machine | None = None,
) -> dict[str, bytes]:
    """What is written of a model, by file name; `formulas` are those that it was compiled from.
    A machine's are too long to be written: its description stands in their place."""
    data = safetensors_bytes(tensors)
    proved = with_machine(certificate.to_json(), machine)
    files = {
        "config.json": json_bytes(config),
        "model.safetensors": data,
        **json_files(tokenizer_documents(tokens, context, pad_left=machine is not None)),
        "certificate.json": json_bytes({**proved, **export_facts(t, data)}),
        **_meaning(formulas, machine),
        "README.md": readme.encode(),
    }
    if labels is not None:
        files["labels.json"] = json_bytes(labels.to_json())
    if head == "lm":
        files[GENERATION] = json_bytes(generation(tokens, machine is not None))
    if directions is not None:
        files[DIRECTIONS] = safetensors_bytes(directions.tensors())
    return files


def safetensors_bytes(tensors: Mapping[str, NDArray[Any]]) -> bytes:
    from safetensors.numpy import save

    ordered = {name: np.ascontiguousarray(tensors[name]) for name in sorted(tensors)}
    return bytes(save(ordered, metadata={"format": "pt"}))


def _meaning(formulas: Mapping[str, Claimed], machine: Machine | None) -> dict[str, bytes]:
    """What the weights are claimed to compute."""
    if machine is not None:
        return {MACHINE: json_bytes(machine.to_json())}
    for meaning in formulas.values():
        if isinstance(meaning, Acceptor):
            return language_file(meaning)
    lines = "".join(f"{n}: {f}\n" for n, f in formulas.items())
    return {"formula.txt": lines.encode(), **predicates_file(*formulas_alone(formulas).values())}


def generation(tokens: Sequence[str], greedy: bool) -> dict[str, Any]:
    """`generation_config.json`: machines are run greedily, others are sampled from."""
    return {
        "bos_token_id": tokens.index(BOS),
        "eos_token_id": tokens.index(EOS),
        "pad_token_id": tokens.index(EOS),
        **(GREEDY if greedy else SAMPLING),
    }
