"""Soft twins: the same circuit at the least sharpness that is still certified.

An export's attention is so sharp, and its gates so steep, that a gradient through them is 0: of a
decided head, because softmax is flat where it is decided. A soft twin has the weights of a smooth
export (GELU) with all queries multiplied by a number below 1, and the gates' slopes likewise. Both
numbers are made as small as the certificate allows: the checker reads the softened weights and
must prove every word of the context right in float32, as it must of any export.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from math import log2
from pathlib import Path
from typing import Any

from safetensors.numpy import load, save

from softhat.export.checking import certify
from softhat.io.files import json_bytes, parse_json

RATIO, MOST = 2 ** (-1 / 8), 80
"""What queries are multiplied by is a power of the RATIO, MOST being the greatest exponent."""
SLOPES = (1 / 2, 1 / 4, 1 / 8)


Sharpness = Mapping[tuple[int, int], float]
"""By (layer, head): what its queries are multiplied by. Heads that are not listed do not change."""


def softened(files: Mapping[str, bytes], attention: Sharpness, gates: float) -> dict[str, bytes]:
    """A GPT-2 export's files with other weights; its certificate is made anew from them."""
    tensors = load(files["model.safetensors"])
    heads = int(parse_json(files["config.json"], "config.json")["n_head"])
    for name, tensor in tensors.items():
        if ".attn.c_attn." in name:
            layer = int(name.split(".h.")[1].partition(".")[0])
            changed = tensor.copy()
            queries = changed[..., : tensor.shape[-1] // 3]
            width = queries.shape[-1] // heads
            for h in range(heads):
                queries[..., h * width : (h + 1) * width] *= attention.get((layer, h), 1.0)
            tensors[name] = changed
        elif ".mlp.c_fc." in name:
            tensors[name] = tensor * tensor.dtype.type(gates)
        elif name.endswith(".mlp.c_proj.weight"):
            tensors[name] = tensor / tensor.dtype.type(gates)
    twin = {**files, "model.safetensors": save(tensors, metadata={"format": "pt"})}
    return {**twin, "certificate.json": json_bytes(_certificate(twin))}


def soft_twin(
    files: Mapping[str, bytes], context: int
) -> tuple[dict[str, bytes], dict[tuple[int, int], float], float]:
    """The softest twin of an export that is certified for its whole context, and its numbers.

    Gates first, whose slopes are powers of two, so that a bit is still exactly ±1 but for what
    GELU adds; then the heads, all together and after that each as far as it goes alone.
    """

    def holds(attention: Sharpness, gates: float) -> bool:
        proved = parse_json(softened(files, attention, gates)["certificate.json"], "certificate")
        return int(proved["max_length"]["float32"]) >= context - 1

    labels = parse_json(files["labels.json"], "labels.json")
    heads = [(int(head["layer"]), int(head["head"])) for head in labels["heads"]]
    gates = min((slope for slope in SLOPES if holds({}, slope)), default=1.0)
    together = _least(lambda x: holds(dict.fromkeys(heads, x), gates))
    sharpness = dict.fromkeys(heads, together)
    for head in heads:

        def alone(x: float, head: tuple[int, int] = head) -> bool:
            return holds({**sharpness, head: x}, gates)

        sharpness[head] = _least(alone, together)
    return softened(files, sharpness, gates), sharpness, gates


def _least(holds: Callable[[float], bool], known: float = 1.0) -> float:
    """The least power of the RATIO for which it holds, by bisection from one for which it does."""
    high, low = round(log2(known) / log2(RATIO)), MOST
    while low - high > 1:
        middle = (low + high) // 2
        high, low = (middle, low) if holds(RATIO**middle) else (high, middle)
    return float(RATIO**high)


def _certificate(files: Mapping[str, bytes]) -> dict[str, Any]:
    """What is proved of the files, with what an export's certificate says besides."""
    stated = parse_json(files["certificate.json"], "certificate.json")
    with tempfile.TemporaryDirectory() as scratch:
        for name, data in files.items():
            (Path(scratch) / name).write_bytes(data)
        proved = certify(scratch).to_json()
    return {name: proved.get(name, value) for name, value in stated.items()}
