"""The files of a stock checkpoint, whatever its architecture. Nothing in them needs softhat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.export.stock.languages import language_file
from softhat.frontends.machines.machine import Machine
from softhat.io.files import json_bytes
from softhat.logic.binding import predicates_file
from softhat.proof.stock.automata import Acceptor, Claimed, formulas_alone
from softhat.transformer.weights import BOS, EOS

DIRECTIONS = "directions.safetensors"
"""Where everything is in a disguised model."""
GENERATION = "generation_config.json"
MACHINE = "machine.json"
"""The machine that a model runs."""
SAMPLING = {"do_sample": True, "top_k": 0}
"""From all of the distribution."""
GREEDY = {"do_sample": False}


def safetensors_bytes(tensors: Mapping[str, NDArray[Any]]) -> bytes:
    from safetensors.numpy import save

    ordered = {name: np.ascontiguousarray(tensors[name]) for name in sorted(tensors)}
    return bytes(save(ordered, metadata={"format": "pt"}))


def meaning_files(formulas: Mapping[str, Claimed], machine: Machine | None) -> dict[str, bytes]:
    """What the weights are claimed to compute: the formulas that a model was compiled from. A
    machine's are too long to be written: its description stands in their place."""
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
