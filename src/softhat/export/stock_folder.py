"""The files of a stock checkpoint, whatever its architecture. Nothing in them needs softhat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softhat.export.certificates import export_facts
from softhat.export.labels import Labels
from softhat.export.tokenizer import tokenizer_files
from softhat.files import json_bytes
from softhat.logic.binding import predicates_file
from softhat.logic.syntax.nodes import Formula
from softhat.proof.stock.certificate import StockCertificate
from softhat.transformer.directions import Directions
from softhat.transformer.weights import BOS, EOS, Transformer

DIRECTIONS = "directions.safetensors"
"""Where everything is in a disguised model."""


def stock_files(
    *,
    t: Transformer,
    formulas: Mapping[str, Formula],
    tokens: tuple[str, ...],
    context: int,
    head: str,
    config: Mapping[str, Any],
    tensors: Mapping[str, NDArray[Any]],
    directions: Directions | None,
    labels: Labels,
    certificate: StockCertificate,
    readme: str,
) -> dict[str, bytes]:
    """What is written of a model, by file name; `formulas` are those that it was compiled from."""
    data = safetensors_bytes(tensors)
    files = {
        "config.json": json_bytes(config),
        "model.safetensors": data,
        **tokenizer_files(tokens, context),
        "labels.json": json_bytes(labels.to_json()),
        "certificate.json": json_bytes({**certificate.to_json(), **export_facts(t, data)}),
        "formula.txt": "".join(f"{n}: {f}\n" for n, f in formulas.items()).encode(),
        **predicates_file(*formulas.values()),
        "README.md": readme.encode(),
    }
    if head == "lm":
        files["generation_config.json"] = json_bytes(_sampling(tokens))
    if directions is not None:
        files[DIRECTIONS] = safetensors_bytes(directions.tensors())
    return files


def safetensors_bytes(tensors: Mapping[str, NDArray[Any]]) -> bytes:
    from safetensors.numpy import save

    ordered = {name: np.ascontiguousarray(tensors[name]) for name in sorted(tensors)}
    return bytes(save(ordered, metadata={"format": "pt"}))


def _sampling(tokens: tuple[str, ...]) -> dict[str, Any]:
    """`generation_config.json`: sample from all of the distribution."""
    return {
        "bos_token_id": tokens.index(BOS),
        "eos_token_id": tokens.index(EOS),
        "pad_token_id": tokens.index(EOS),
        "do_sample": True,
        "top_k": 0,
    }
